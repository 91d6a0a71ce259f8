import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { CANCELLED } from '../../src/domain/withdrawal.ts';
import { createUnsignedExpiry } from '../../src/settlement/expire-unsigned.ts';
import { attempt, codeOf, PLENTY, useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { recordCalls } from '../solana/rpc-calls.ts';
import { preparedAttempt } from './prepared-attempt.ts';

const use = useLedger();
const REFUSED = { code: 'signing_refused', message: 'the price is above what this signer grants' };
const fixture = useLandingFixture();

const expireUnsigned = () =>
  createUnsignedExpiry({ ledger: use.ledger, chain: fixture.chain }).expireUnsigned();
/** A reader that reads two history entries per run. */
const smallPageExpiry = () =>
  createUnsignedExpiry({
    ledger: use.ledger,
    chain: fixture.chain,
    history: { pageSize: 3, pagesPerCall: 1 },
  });

/** So many transactions that name the hot wallet, each in a block of its own. */
async function sendDust(count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await fixture.localnet.airdrop(fixture.signer.address, BigInt(n));
    fixture.localnet.controls.produceSlots(5);
  }
}

const statesOf = async (id: string) => {
  const { status } = await use.ledger.withdrawals.get(id);
  return [status, ...(await use.ledger.attempts.of(id)).map(({ state }) => state)];
};

/** A withdrawal held because the signer refused its attempt; `raw` is what a holder of the key could still send. */
async function refusedAttempt(changes: { readonly message?: string } = {}) {
  const { id, raw, signature } = await preparedAttempt(use.ledger, fixture, changes);
  await use.ledger.settlements.move(id, 'held', REFUSED);
  return { id, raw, signature };
}

/** Leaves no refused attempt of one test to the next. */
async function closeAttempt(id: string): Promise<void> {
  await use.ledger.settlements.move(id, 'held', { code: 'evidence_missing', message: 'the test is over' });
}

describe('an attempt that the signer refused', () => {
  it('is dead once the blocks of its lifetime and the histories of the wallet lack its message, and the next one may follow', async () => {
    const { id, signature } = await refusedAttempt();
    expect(await expireUnsigned()).toBe(0);
    const other = await fixture.attempt(newAddress(), 5_000_000n);
    await fixture.chain.send(other.raw);
    await fixture.localnet.airdrop(fixture.signer.address, 1_000n);
    fixture.localnet.controls.produceSlots(170);
    expect(await expireUnsigned()).toBe(1);

    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
    const [dead] = await use.ledger.attempts.of(id);
    expect(dead?.proof).toMatchObject({ statuses: [{ seen: 'absent' }, {}] });
    expect(await codeOf(use.ledger.attempts.storeSignature(id, 1, signature))).toBe('IllegalTransition');
    expect((await use.ledger.attempts.prepare(attempt(id, 2), PLENTY)).kind).toBe('prepared');
  });

  it('is also dead when the signer does not answer before its blockhash expires', async () => {
    const { id } = await refusedAttempt();
    await sql`update settlement set status = 'preparing', reason_code = null, reason_message = null
      where id = ${id}`.execute(use.ledger.db);
    fixture.localnet.controls.produceSlots(170);
    expect(await expireUnsigned()).toBe(0);
    await sql`update attempt set created_at = now() - interval '4 minutes'
      where settlement_id = ${id}`.execute(use.ledger.db);
    expect(await expireUnsigned()).toBe(1);
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('has an open alert while it cannot be examined', async () => {
    const { id } = await refusedAttempt();
    const expiry = createUnsignedExpiry({ ledger: use.ledger, chain: fixture.chain });
    fixture.localnet.controls.produceSlots(170);
    const settle = vi.spyOn(use.ledger.attempts, 'settle').mockRejectedValue(new Error('no disk is left'));
    await expiry.expireUnsigned();
    settle.mockRestore();
    const [alert] = await use.ledger.alerts.listOpenAbout(id);
    expect(alert).toMatchObject({ kind: 'evidence_missing', message: expect.stringContaining('no disk') });
    expect(await expiry.expireUnsigned()).toBe(1);
    expect(await use.ledger.alerts.listOpenAbout(id)).toEqual([]);
  });

  it('has no alert left from a process that ended, but the alert about a signed attempt stays', async () => {
    const [over, judged] = [await refusedAttempt(), await refusedAttempt()];
    await closeAttempt(judged.id);
    for (const { id: subject } of [over, judged])
      await use.ledger.alerts.raise({ kind: 'evidence_missing', subject, message: 'nodes are silent' });
    fixture.localnet.controls.produceSlots(170);
    expect(await expireUnsigned()).toBe(1);
    expect(await use.ledger.alerts.listOpenAbout(over.id)).toEqual([]);
    expect(await use.ledger.alerts.listOpenAbout(judged.id)).toMatchObject([{ kind: 'evidence_missing' }]);
    await use.ledger.alerts.close('evidence_missing', judged.id);
  });

  it('waits for at most one attempt of each other kind', async () => {
    const [first, second] = [await refusedAttempt(), await refusedAttempt()];
    const other = await refusedAttempt();
    await sql`update settlement set kind = 'purchase' where id = ${other.id}`.execute(use.ledger.db);
    const ids = (await use.ledger.attempts.listUnsigned(2)).map(({ settlementId }) => settlementId);
    expect(ids).toEqual([first.id, other.id]);
    for (const { id } of [first, second, other]) await closeAttempt(id);
  });

  it('is examined even when a full batch of older attempts cannot be proved dead', async () => {
    const odd = [await refusedAttempt({ message: 'AQID' }), await refusedAttempt({ message: 'AQIE' })];
    const { id } = await refusedAttempt();
    fixture.localnet.controls.produceSlots(170);
    const rounds = createUnsignedExpiry({ ledger: use.ledger, chain: fixture.chain, maxRowsPerRound: 2 });
    expect([await rounds.expireUnsigned(), await rounds.expireUnsigned()]).toEqual([0, 1]);
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
    // The oldest attempts are examined again.
    const read = vi.spyOn(use.ledger.attempts, 'listUnsigned');
    await rounds.expireUnsigned();
    const [rows] = await Promise.all(read.mock.results.map(({ value }) => value));
    read.mockRestore();
    expect(rows.map(({ settlementId }: { settlementId: string }) => settlementId)).toEqual(
      odd.map((one) => one.id),
    );
    for (const one of odd) await closeAttempt(one.id);
  });

  it('allows a cancellation only once it is dead, and the cancellation releases its reservation', async () => {
    const { id } = await refusedAttempt();
    expect(await codeOf(use.ledger.settlements.cancel(id, CANCELLED))).toBe('NotCancellable');
    fixture.localnet.controls.produceSlots(170);
    expect(await expireUnsigned()).toBe(1);
    expect((await use.ledger.settlements.cancel(id, CANCELLED)).status).toBe('cancelled');
    const open = await use.ledger.db
      .selectFrom('reservation')
      .select('state')
      .where('settlementId', '=', id)
      .where('state', '=', 'open')
      .execute();
    expect(open).toEqual([]);
  });

  it('is not dead when it was signed and sent, even if every history of the wallet hides it', async () => {
    const { id, raw, signature } = await refusedAttempt();
    await fixture.chain.send(raw);
    fixture.localnet.controls.produceSlots(170);
    expect(fixture.localnet.controls.chain.ledger.record(signature)).toBeDefined();
    expect(await expireUnsigned()).toBe(0);
    for (const node of [0, 1])
      fixture.localnet.controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    expect(await expireUnsigned()).toBe(0);
    fixture.localnet.controls.clearFaults();
    fixture.localnet.controls.setFault(1, 'getSignaturesForAddress', { kind: 'result', result: [] });
    expect(await expireUnsigned()).toBe(0);
    expect(await statesOf(id)).toEqual(['held', 'prepared']);
    await closeAttempt(id);
  });

  it.each([
    ['one of two nodes is silent', 'getBlockHeight'],
    ['a node shows no history of the wallet', 'getSignaturesForAddress'],
  ])('is not dead while %s', async (_title, method) => {
    const { id } = await refusedAttempt();
    fixture.localnet.controls.produceSlots(170);
    fixture.localnet.controls.setFault(1, method, { kind: 'http', status: 503 });
    expect(await expireUnsigned()).toBe(0);
    fixture.localnet.controls.clearFaults();
    expect(await expireUnsigned()).toBe(1);
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('is dead in the end when the wallet history is longer than one batch', async () => {
    const { id } = await refusedAttempt();
    fixture.localnet.controls.produceSlots(170);
    await sendDust(9);
    const expiry = smallPageExpiry();
    const asked: string[] = [];
    const stop = recordCalls(fixture.pool, asked);
    const rounds = [];
    for (let sum = 0; sum === 0 && rounds.length < 12; rounds.push(sum)) sum = await expiry.expireUnsigned();
    stop();
    expect(rounds).toEqual([0, 0, 0, 0, 1]);
    expect(asked.filter((method) => method === 'getSignaturesForAddress').length).toBeLessThan(
      rounds.length * 8,
    );
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('is not dead when a node lost the cursor at which its history continues', async () => {
    const { id } = await refusedAttempt();
    fixture.localnet.controls.produceSlots(170);
    await sendDust(3);
    const expiry = smallPageExpiry();
    expect(await expiry.expireUnsigned()).toBe(0);
    fixture.localnet.controls.setFault(1, 'getSignaturesForAddress', { kind: 'result', result: [] });
    fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });
    expect(await expiry.expireUnsigned()).toBe(0);
    fixture.localnet.controls.clearFaults();
    expect([await expiry.expireUnsigned(), await expiry.expireUnsigned()]).toEqual([0, 1]);
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('is dead when a fork dropped the block of its blockhash, by a history that covers only its lifetime', async () => {
    fixture.localnet.controls.produceSlots(10);
    const { id } = await refusedAttempt();
    fixture.localnet.controls.fork(3);
    fixture.localnet.controls.produceSlots(170);
    await sendDust(5);
    const expiry = smallPageExpiry();
    const rounds = [];
    for (let sum = 0; sum === 0 && rounds.length < 8; rounds.push(sum)) sum = await expiry.expireUnsigned();
    expect(rounds).toEqual([0, 0, 1]);
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('is dead however much dust its lifetime holds, and only transactions with a known signer are read', async () => {
    const { id } = await refusedAttempt();
    await sendDust(12);
    fixture.localnet.controls.produceSlots(170);
    const asked: string[] = [];
    const stop = recordCalls(fixture.pool, asked);
    expect(await expireUnsigned()).toBe(1);
    stop();
    expect(asked).not.toContain('getTransaction');
    expect(await statesOf(id)).toEqual(['preparing', 'dead']);
  });

  it('is not judged by any message but the prepared one', async () => {
    const { id } = await refusedAttempt({ message: 'AQID' });
    fixture.localnet.controls.produceSlots(170);
    expect(await expireUnsigned()).toBe(0);
    await closeAttempt(id);
  });

  it('does not expire when its signature was stored meanwhile', async () => {
    const { id, signature } = await refusedAttempt();
    await use.ledger.attempts.storeSignature(id, 1, signature);
    const proof = {};
    const settled = use.ledger.attempts.settle(id, 1, { state: 'dead', signature: null, proof });
    expect(await codeOf(settled)).toBe('IllegalTransition');
  });
});
