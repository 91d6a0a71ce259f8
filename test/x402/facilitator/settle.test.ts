import { once } from 'node:events';
import { connect } from 'node:net';
import { Keypair } from '@solana/web3.js';
import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { paymentId } from '../../../src/domain/payment.ts';
import { messageHashOf } from '../../../src/solana/tx/message.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { NETWORK, PRICE } from './selling-fixture.ts';
import { type FacilitatorAnswer, facilitatorServer, post, useFacilitator } from './support.ts';

const use = useFacilitator();
afterEach(() => vi.restoreAllMocks());

const settle = (body: object, headers = {}): Promise<FacilitatorAnswer> =>
  post(use.app, 'settle', body, headers);
const isSuccess = ({ body }: FacilitatorAnswer): boolean => body['success'] === true;

function idOf(transaction: string): string {
  const signed = readSigned(Buffer.from(transaction, 'base64'));
  if (signed === null) throw new Error('the test made it');
  return paymentId(NETWORK.caip2, messageHashOf(signed.message));
}

const stateOf = async (transaction: string) => (await use.ledger.payments.find(idOf(transaction)))?.state;
const payer = () => use.selling.buyer.publicKey.toBase58();
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{86,88}$/;

describe('a settled payment', () => {
  it('answers version 2 with the signature, and is stored as served', async () => {
    const transaction = await use.selling.transaction();
    const { status, body } = await settle(use.selling.version2(transaction));
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      payer: payer(),
      transaction: expect.stringMatching(SIGNATURE),
      network: NETWORK.caip2,
      amount: PRICE.toString(),
    });
    await vi.waitFor(async () => expect(await stateOf(transaction)).toBe('served'));
  });

  it('answers version 1 with the name of the network in version 1', async () => {
    const { body } = await settle(use.selling.version1(await use.selling.transaction()));
    expect(body).toMatchObject({ success: true, payer: payer(), network: 'solana-devnet' });
  });

  it('of version 1 may have the name of the network in version 2, in the payload, the requirements or both', async () => {
    for (const change of [{ network: NETWORK.caip2 }, {}])
      for (const network of [NETWORK.caip2, NETWORK.v1]) {
        const body = use.selling.version1(await use.selling.transaction(), change);
        const named = { ...body, paymentPayload: { ...body.paymentPayload, network } };
        expect((await post(use.app, 'verify', named)).body).toMatchObject({ isValid: true });
        const { network: required } = named.paymentRequirements;
        expect((await settle(named)).body).toMatchObject({ success: true, network: required });
      }
  });

  it('can name a retired fee payer', async () => {
    const feePayer = use.selling.feePayers[1]?.address ?? '';
    const body = use.selling.version2(await use.selling.transaction({ feePayer }), { extra: { feePayer } });
    expect(await settle(body)).toMatchObject({ body: { success: true } });
  });

  it('is a duplicate in later requests of both versions, with the signature', async () => {
    const transaction = await use.selling.transaction();
    const { body } = await settle(use.selling.version2(transaction));
    for (const repeated of [use.selling.version2(transaction), use.selling.version1(transaction)])
      expect((await settle(repeated)).body).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: body['transaction'],
        payer: payer(),
      });
  });

  it('needs one simulation for verification and settlement together', async () => {
    const simulate = vi.spyOn(use.selling.fixture.chain, 'simulateAsIs');
    const body = use.selling.version2(await use.selling.transaction());
    expect((await post(use.app, 'verify', body)).body).toEqual({ isValid: true, payer: payer() });
    expect(isSuccess(await settle(body))).toBe(true);
    expect(simulate).toHaveBeenCalledOnce();
  });
});

describe('two payments at once out of a balance for one', () => {
  it('are one success, and one refusal before it is signed', async () => {
    const buyer = Keypair.generate();
    const { controls } = use.selling.fixture.localnet;
    await controls.mintTo(use.selling.mint, buyer.publicKey.toBase58(), PRICE * 2n - 1n);
    controls.produceSlots(8);
    const bodies = [await use.selling.transaction({ buyer }), await use.selling.transaction({ buyer })];
    const answers = await Promise.all(bodies.map((body) => settle(use.selling.version2(body))));
    expect(answers.filter(isSuccess)).toHaveLength(1);
    const [refused] = answers.filter((answer) => !isSuccess(answer));
    expect(refused?.body).toMatchObject({
      errorReason: 'unexpected_settle_error',
      errorMessage: expect.stringContaining('open payments use up the balance'),
      transaction: '',
    });
  });
});

describe('the success of a payment', () => {
  it('goes to one of ten concurrent callers', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    const answers = await Promise.all(Array.from({ length: 10 }, () => settle(body)));
    expect(answers.filter(isSuccess)).toHaveLength(1);
    const others = answers.filter((answer) => !isSuccess(answer));
    expect(new Set(others.map((answer) => answer.body['errorReason']))).toEqual(
      new Set(['duplicate_settlement']),
    );
    expect(new Set(answers.map((answer) => answer.body['transaction'])).size).toBe(1);
  });

  it('goes to the same Idempotency-Key again, by any replica, and to no other key', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    const mine = { 'idempotency-key': 'order-7' };
    const first = await settle(body, mine);
    expect(isSuccess(first)).toBe(true);
    const replica = await facilitatorServer(use.selling.deps());
    expect(await post(replica, 'settle', body, mine)).toEqual(first);
    expect(await post(replica, 'verify', body, mine)).toMatchObject({ body: { isValid: true } });
    expect(await post(replica, 'verify', body)).toMatchObject({
      body: { isValid: false, invalidReason: 'duplicate_settlement' },
    });
    await replica.close();
    for (const other of [{}, { 'idempotency-key': 'order-8' }])
      expect((await settle(body, other)).body['errorReason']).toBe('duplicate_settlement');
  });

  it('goes to all concurrent callers with the same Idempotency-Key', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    const mine = { 'idempotency-key': 'order-9' };
    const answers = await Promise.all([mine, mine, mine, {}].map((headers) => settle(body, headers)));
    const [first, second, third] = answers.map(isSuccess);
    // The caller without a key may be the first, and is then the only successful caller.
    expect(answers.filter(isSuccess).length).toBe(first === true ? 3 : 1);
    expect([second, third]).toEqual([first, first]);
  });

  it('is scoped by facilitator key', async () => {
    await use.ledger.apiKeys.addFacilitatorKey('one', 'secret-1');
    await use.ledger.apiKeys.addFacilitatorKey('two', 'secret-2');
    const guarded = await facilitatorServer(use.selling.deps({ apiKeys: use.ledger.apiKeys }));
    const body = use.selling.version2(await use.selling.transaction());
    const as = (secret: string) => ({ authorization: `Bearer ${secret}`, 'idempotency-key': 'same' });
    expect(isSuccess(await post(guarded, 'settle', body, as('secret-1')))).toBe(true);
    expect(isSuccess(await post(guarded, 'settle', body, as('secret-2')))).toBe(false);
    expect(isSuccess(await post(guarded, 'settle', body, as('secret-1')))).toBe(true);
    expect(await post(guarded, 'settle', body)).toMatchObject({ status: 401 });
    await guarded.close();
  });

  it('goes to the same caller again whose connection closed before the answer', async () => {
    const listening = await facilitatorServer(use.selling.deps());
    const port = Number(new URL(await listening.listen({ host: '127.0.0.1', port: 0 })).port);
    const transaction = await use.selling.transaction();
    const text = JSON.stringify(use.selling.version2(transaction));
    const claim = vi.spyOn(use.ledger.obligations, 'claim').mockImplementationOnce(async (...asked) => {
      const claimed = await use.ledger.obligations.claim(...asked);
      socket.destroy();
      await once(socket, 'close');
      // The server notices the closed connection in its next turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return claimed;
    });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /facilitator/settle HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    await vi.waitFor(() => expect(claim).toHaveBeenCalled(), 20_000);
    await vi.waitFor(async () =>
      expect(await use.ledger.payments.find(idOf(transaction))).toMatchObject({
        state: 'owed',
        leaseHolder: null,
      }),
    );
    expect((await post(use.app, 'verify', text)).body).toMatchObject({ isValid: true });
    expect(isSuccess(await settle(use.selling.version2(transaction)))).toBe(true);
    expect(isSuccess(await settle(use.selling.version2(transaction)))).toBe(false);
    await listening.close();
  });

  it('can be claimed again when the process has stopped between claim and delivery', async () => {
    const transaction = await use.selling.transaction();
    const id = idOf(transaction);
    vi.spyOn(use.ledger.obligations, 'markServed').mockResolvedValue(undefined);
    expect(isSuccess(await settle(use.selling.version2(transaction)))).toBe(true);
    vi.restoreAllMocks();
    const brief = await facilitatorServer(use.selling.deps({ settleWithinMs: 300 }));
    expect((await post(brief, 'settle', use.selling.version2(transaction))).body).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: expect.stringMatching(SIGNATURE),
    });
    await brief.close();
    const past = sql<Date>`now() - interval '1 second'`;
    await use.ledger.db.updateTable('payment').set({ leaseUntil: past }).where('id', '=', id).execute();
    expect(isSuccess(await settle(use.selling.version2(transaction)))).toBe(true);
  });
});

describe('a success that no caller has fetched for ten minutes', () => {
  it('is a duplicate with the signature at once, in both steps, and a success for the key of its first call', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    const mine = { 'idempotency-key': 'order-10' };
    // Each claim fails as if its caller had gone, so that the payment stays owed.
    const claim = vi.spyOn(use.ledger.obligations, 'claim').mockResolvedValue(false);
    const brief = await facilitatorServer(use.selling.deps({ settleWithinMs: 1_500 }));
    expect((await post(brief, 'settle', body, mine)).body['errorReason']).toBe('settlement_pending');
    claim.mockRestore();
    await brief.close();
    const transaction = String(body.paymentPayload.payload.transaction);
    await expect.poll(() => stateOf(transaction)).toBe('owed');
    const id = idOf(transaction);
    const paidAt = sql<Date>`now() - interval '11 minutes'`;
    await use.ledger.db.updateTable('payment').set({ paidAt }).where('id', '=', id).execute();
    const reach = () => Promise.reject(new Error('no caller waits'));
    const other = await facilitatorServer(use.selling.deps({ runs: { reach }, settleWithinMs: 3_600_000 }));
    const late = await post(other, 'settle', body);
    expect(late.body).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: expect.stringMatching(SIGNATURE),
    });
    expect((await post(other, 'verify', body)).body).toMatchObject({ invalidReason: 'duplicate_settlement' });
    expect((await post(other, 'settle', body, mine)).body).toMatchObject({
      success: true,
      transaction: late.body['transaction'],
    });
    await other.close();
  });
});

describe('a payment that is not settled in time', () => {
  it('is pending with its signature, within the time limit of the requirements, and a success later', async () => {
    use.selling.fixture.swallow();
    const transaction = await use.selling.transaction();
    const pending = await settle(use.selling.version2(transaction, { maxTimeoutSeconds: 1 }));
    expect(pending.body).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: expect.stringMatching(SIGNATURE),
      network: NETWORK.caip2,
    });
    use.selling.fixture.localnet.controls.clearFaults();
    const { body } = await settle(use.selling.version2(transaction));
    expect(body).toMatchObject({ success: true, transaction: pending.body['transaction'] });
  });

  it('logs a warning where its run does not answer', async () => {
    const warn = vi.fn<(error: unknown, what: string) => void>();
    const reach = () => Promise.reject(new Error('no Temporal'));
    const alone = await facilitatorServer(use.selling.deps({ runs: { reach }, warn, settleWithinMs: 300 }));
    const { body } = await post(alone, 'settle', use.selling.version2(await use.selling.transaction()));
    expect(body).toMatchObject({ errorReason: 'settlement_pending', transaction: '' });
    expect(warn).toHaveBeenCalledOnce();
    await alone.close();
  });
});

describe('an unsuccessful payment', () => {
  it('that fails on chain is reported with its signature', async () => {
    const poor = Keypair.generate();
    await use.selling.fixture.localnet.controls.mintTo(use.selling.mint, poor.publicKey.toBase58(), PRICE);
    const [spending, transaction] = [
      await use.selling.transaction({ buyer: poor }),
      await use.selling.transaction({ buyer: poor }),
    ];
    const reach = async (id: string) => {
      // Another owner of the fee payer's key spends the balance after the simulation.
      await use.selling.sendElsewhere(spending);
      return use.selling.reach(id);
    };
    const server = await facilitatorServer(use.selling.deps({ runs: { reach } }));
    const failed = await post(server, 'settle', use.selling.version2(transaction));
    await server.close();
    expect(failed.body['errorReason']).toMatch(/^(invalid_exact_svm_)?transaction_failed$/);
    expect(failed.body['transaction']).toMatch(SIGNATURE);
  });

  it('that is proved dead is reported as expired', async () => {
    use.selling.fixture.swallow();
    const transaction = await use.selling.transaction();
    const pending = await settle(use.selling.version2(transaction, { maxTimeoutSeconds: 1 }));
    use.selling.fixture.localnet.controls.produceSlots(200);
    const again = async () => (await settle(use.selling.version2(transaction))).body;
    await expect
      .poll(again)
      .toMatchObject({ errorReason: 'payment_expired', transaction: pending.body['transaction'] });
    use.selling.fixture.localnet.controls.clearFaults();
    expect(await stateOf(transaction)).toBe('void');
  });

  it('that the gateway has settled is a duplicate at the facilitator', async () => {
    const transaction = await use.selling.transaction();
    await settle(use.selling.version2(transaction));
    const id = idOf(transaction);
    await vi.waitFor(async () => expect(await stateOf(transaction)).toBe('served'));
    await use.ledger.db
      .updateTable('payment')
      .set({ seller: 'gateway', state: 'owed' })
      .where('id', '=', id)
      .execute();
    const { body } = await settle(use.selling.version2(transaction));
    expect(body).toMatchObject({ errorReason: 'duplicate_settlement' });
    expect(await use.ledger.obligations.claim(id, null, { holder: 'x', ms: 1 })).toBe(false);
  });

  it('that was on the chain before is a duplicate, and is listed as unmatched', async () => {
    const transaction = await use.selling.transaction();
    await use.selling.sendElsewhere(transaction);
    for (const _ of [1, 2])
      expect((await settle(use.selling.version2(transaction))).body).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: '',
      });
    expect(await stateOf(transaction)).toBe('unmatched');
  });
});
