import { Keypair } from '@solana/web3.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DomainError } from '../../../src/domain/errors.ts';
import { TOKEN_2022_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { LIMITS } from '../rules/buyer.ts';
import { NETWORK, PRICE } from './selling-fixture.ts';
import { facilitatorServer, post, useFacilitator } from './support.ts';

const use = useFacilitator();
afterEach(() => vi.restoreAllMocks());

const stranger = Keypair.generate().publicKey.toBase58();
const UNMANAGED = 'fee_payer_not_managed_by_facilitator';

describe('a request that belongs to another facilitator', () => {
  it.each([
    ['another scheme', { scheme: 'upto' }, 'unsupported_scheme', 'unsupported_scheme'],
    ['another network', { network: 'solana:other' }, 'invalid_network', 'invalid_network'],
    ['an unknown fee payer', { extra: { feePayer: stranger } }, `invalid_exact_svm_${UNMANAGED}`, UNMANAGED],
    [
      'no fee payer',
      { extra: null },
      'invalid_exact_svm_payload_missing_fee_payer',
      'invalid_exact_svm_payload_missing_fee_payer',
    ],
    [
      'an invalid address',
      { payTo: 'nowhere' },
      'invalid_payment_requirements',
      'invalid_payment_requirements',
    ],
    [
      'a memo that cannot be stored',
      { extra: { memo: 'a\0' } },
      'invalid_payment_requirements',
      'invalid_payment_requirements',
    ],
  ])('with %s is refused in both versions and by both steps', async (_what, given, version2, version1) => {
    const transaction = await use.selling.transaction();
    const memo = 'extra' in given && given.extra !== null && 'memo' in given.extra;
    const change = memo ? { extra: { ...given.extra, feePayer: use.selling.feePayer } } : given;
    const two = use.selling.version2(transaction, change);
    const one = use.selling.version1(transaction, change);
    const network = 'network' in change ? { network: two.paymentRequirements.network } : {};
    for (const [body, reason] of [
      [two, version2],
      [one, version1],
    ] as const) {
      expect(await post(use.app, 'verify', body)).toMatchObject({
        status: 200,
        body: { isValid: false, invalidReason: reason, invalidMessage: expect.any(String) },
      });
      expect(await post(use.app, 'settle', body)).toMatchObject({
        status: 200,
        body: { success: false, errorReason: reason, transaction: '', ...(body === two ? network : {}) },
      });
    }
  });

  it('of version 2 with the name of version 1 is refused', async () => {
    const body = use.selling.version2(await use.selling.transaction(), { network: NETWORK.v1 });
    expect((await post(use.app, 'verify', body)).body['invalidReason']).toBe('invalid_network');
  });

  it('of another version of x402 is refused', async () => {
    const body = use.selling.version2('AA==');
    const other = { ...body, paymentPayload: { ...body.paymentPayload, x402Version: 3 } };
    expect(await post(use.app, 'verify', other)).toMatchObject({
      status: 200,
      body: { isValid: false, invalidReason: 'invalid_x402_version' },
    });
    expect((await post(use.app, 'settle', other)).body).toMatchObject({
      success: false,
      errorReason: 'invalid_x402_version',
      transaction: '',
      network: NETWORK.caip2,
    });
  });
});

describe('a payment that accepts other requirements', () => {
  it.each([
    ['scheme', 'upto', 'unsupported_scheme'],
    ['network', 'solana:other', 'invalid_exact_svm_network_mismatch'],
    ['asset', stranger, 'invalid_payment_requirements'],
    ['amount', '2501', 'invalid_payment_requirements'],
    ['payTo', stranger, 'invalid_payment_requirements'],
  ])('of the field %s is refused', async (field, value, reason) => {
    const body = use.selling.version2(await use.selling.transaction());
    const accepted = { ...body.paymentRequirements, [field]: value };
    const changed = { ...body, paymentPayload: { ...body.paymentPayload, accepted } };
    expect((await post(use.app, 'verify', changed)).body).toMatchObject({
      isValid: false,
      invalidReason: reason,
    });
  });

  it('of the network is refused in version 1 by its own code', async () => {
    const body = use.selling.version1(await use.selling.transaction());
    const paymentPayload = { ...body.paymentPayload, network: 'solana' };
    expect((await post(use.app, 'verify', { ...body, paymentPayload })).body['invalidReason']).toBe(
      'network_mismatch',
    );
  });
});

describe('a transaction that breaks a rule', () => {
  it('causes no call to a node, and its payer is named', async () => {
    const body = use.selling.version2(await use.selling.transaction({ amount: PRICE + 1n }));
    await post(use.app, 'verify', body);
    const calls = [
      vi.spyOn(use.selling.fixture.chain, 'accounts'),
      vi.spyOn(use.selling.fixture.chain, 'simulateAsIs'),
    ];
    expect((await post(use.app, 'verify', body)).body).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_svm_payload_amount_mismatch',
      payer: use.selling.buyer.publicKey.toBase58(),
    });
    for (const call of calls) expect(call).not.toHaveBeenCalled();
  });

  it.each([
    ['is missing', undefined, 'invalid_exact_svm_payload_transaction'],
    ['is not a text', 7, 'invalid_exact_svm_payload_transaction'],
    ['is base64url', '-_-_', 'invalid_exact_svm_payload_transaction_could_not_be_decoded'],
    ['is not a transaction', 'AAAA', 'invalid_exact_svm_payload_transaction_could_not_be_decoded'],
    ['is too long', 'A'.repeat(4_000), 'invalid_exact_svm_payload_transaction_could_not_be_decoded'],
  ])('that %s is refused', async (_what, transaction, reason) => {
    const { status, body } = await post(use.app, 'verify', use.selling.version2(transaction));
    expect({ status, reason: body['invalidReason'] }).toEqual({ status: 200, reason });
  });

  it('by its memo is refused', async () => {
    const extra = { feePayer: use.selling.feePayer, memo: 'order 7' };
    const other = use.selling.version2(await use.selling.transaction({ memo: 'order 8' }), { extra });
    expect((await post(use.app, 'verify', other)).body['invalidReason']).toBe(
      'invalid_exact_svm_payload_memo_mismatch',
    );
    const asked = use.selling.version2(await use.selling.transaction({ memo: 'order 7' }), { extra });
    expect((await post(use.app, 'verify', asked)).body['isValid']).toBe(true);
  });
});

describe('a payment that a node refuses', () => {
  it('for insufficient funds fails the simulation, with the code of its version', async () => {
    const buyer = Keypair.generate();
    const transaction = await use.selling.transaction({ buyer });
    for (const [body, reason] of [
      [use.selling.version2(transaction), 'invalid_exact_svm_transaction_simulation_failed'],
      [use.selling.version1(transaction), 'transaction_simulation_failed'],
    ] as const) {
      const invalid = { isValid: false, invalidReason: reason, payer: buyer.publicKey.toBase58() };
      expect((await post(use.app, 'verify', body)).body).toMatchObject(invalid);
      expect((await post(use.app, 'settle', body)).body).toMatchObject({
        success: false,
        errorReason: reason,
      });
    }
  });

  it('for its blockhash has expired', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    use.selling.fixture.localnet.controls.produceSlots(200);
    expect((await post(use.app, 'settle', body)).body['errorReason']).toBe('payment_expired');
  });

  it('for its blockhash expires soon; without an expiry from a node it is not refused', async () => {
    const { selling } = use;
    const { controls } = selling.fixture.localnet;
    const body = selling.version2(await selling.transaction());
    const [asking, unanswered] = [
      await facilitatorServer(selling.deps()),
      await facilitatorServer(selling.deps({ blockhashes: { blocksLeft: async () => null } })),
    ];
    selling.stopBlocks();
    controls.produceSlots(135);
    expect((await post(asking, 'verify', body)).body).toMatchObject({
      invalidReason: 'payment_expired',
      invalidMessage: expect.stringMatching(/expires after 1\d blocks; 20 are required/),
    });
    expect((await post(unanswered, 'verify', body)).body).toMatchObject({ isValid: true });
    selling.startBlocks();
    await Promise.all([asking.close(), unanswered.close()]);
  });

  it('is not refused permanently where no node can simulate it now', async () => {
    const { controls, rpcUrls } = use.selling.fixture.localnet;
    const body = use.selling.version2(await use.selling.transaction());
    for (const node of rpcUrls.keys())
      controls.setFault(node, 'simulateTransaction', { kind: 'error', code: -32603, message: 'no' });
    // The errors of the nodes, which can name their hosts, are only logged.
    const message = 'no node can simulate the payment now';
    expect((await post(use.app, 'verify', body)).body).toMatchObject({
      invalidReason: 'unexpected_verify_error',
      invalidMessage: message,
    });
    expect((await post(use.app, 'settle', body)).body).toMatchObject({
      errorReason: 'unexpected_settle_error',
      errorMessage: message,
    });
    controls.clearFaults();
    const isValid = async (): Promise<unknown> => {
      const { body: answer } = await post(
        use.app,
        'verify',
        use.selling.version2(await use.selling.transaction()),
      );
      return answer['isValid'];
    };
    await expect.poll(isValid).toBe(true);
  });
});

describe('the facilitator sells nothing for', () => {
  it('a mint with a transfer fee', async () => {
    const asset = use.selling.fixture.localnet.feeMint.address;
    const transaction = await use.selling.transaction({ mint: asset, program: TOKEN_2022_PROGRAM });
    expect((await post(use.app, 'verify', use.selling.version2(transaction, { asset }))).body).toMatchObject({
      invalidReason: 'invalid_payment_requirements',
      invalidMessage: expect.stringContaining('fee'),
    });
  });

  it('an address that is not a mint', async () => {
    const asset = use.selling.buyer.publicKey.toBase58();
    const body = use.selling.version2(await use.selling.transaction(), { asset });
    expect((await post(use.app, 'verify', body)).body['invalidReason']).toBe('invalid_payment_requirements');
  });

  it('a mint that no node returns now; it reads the mint again', async () => {
    const fresh = await facilitatorServer(use.selling.deps());
    const body = use.selling.version2(await use.selling.transaction());
    vi.spyOn(use.selling.fixture.chain, 'accounts').mockRejectedValueOnce(new Error('secret-host is away'));
    const unread = (await post(fresh, 'verify', body)).body;
    expect(unread['invalidReason']).toBe('unexpected_verify_error');
    expect(unread['invalidMessage']).toMatch(/^the mint \w+ cannot be read now$/);
    expect((await post(fresh, 'verify', body)).body['isValid']).toBe(true);
    await fresh.close();
  });

  it('a payment above the budget of the fee payer or the buyer', async () => {
    const body = use.selling.version2(await use.selling.transaction());
    for (const [feePayer, buyer] of [
      [0n, 1n],
      [1_000_000n, 0n],
    ] as const) {
      const poor = await facilitatorServer(
        use.selling.deps({ budgets: use.selling.budgets(feePayer, buyer) }),
      );
      expect((await post(poor, 'settle', body)).body).toMatchObject({
        errorReason: 'unexpected_settle_error',
        errorMessage: expect.stringContaining('budget'),
      });
      await poor.close();
    }
  });
});

describe('a database that does not answer', () => {
  it('causes no outcome of a payment: the facilitator answers 503 and logs a warning', async () => {
    const warn = vi.fn<(error: unknown, what: string) => void>();
    const alone = await facilitatorServer(use.selling.deps({ warn }));
    const body = use.selling.version2(await use.selling.transaction());
    vi.spyOn(use.ledger.payments, 'find').mockRejectedValueOnce(new DomainError('Unavailable', 'away'));
    const { status, body: answer } = await post(alone, 'settle', body);
    expect(status).toBe(503);
    expect(answer).toEqual({ error: 'The facilitator cannot answer now' });
    expect(warn).toHaveBeenCalledOnce();
    await alone.close();
  });
});

describe('the public routes of the facilitator', () => {
  it('list the supported kinds', async () => {
    const guarded = await facilitatorServer(use.selling.deps({ apiKeys: use.ledger.apiKeys }));
    const response = await guarded.inject('/facilitator/supported');
    const fees = { maxComputeUnitPriceMicroLamports: '5000000', maxFeeLamports: '15000' };
    const extra = { feePayer: use.selling.feePayer, maxComputeUnits: 60_000, ...fees };
    expect(response.json()).toEqual({
      kinds: [
        { x402Version: 2, scheme: 'exact', network: NETWORK.caip2, extra },
        { x402Version: 1, scheme: 'exact', network: 'solana-devnet', extra },
      ],
      extensions: ['bazaar'],
      signers: { 'solana:*': [use.selling.feePayer] },
    });
    const limits = {
      ...LIMITS,
      assetLamports: new Map([[use.selling.mint, 7_000_000n]]),
      maxFeePercent: 50n,
    };
    const worth = await facilitatorServer(use.selling.deps({ limits }));
    expect((await worth.inject('/facilitator/supported')).json().kinds[0].extra).toEqual({
      ...extra,
      maxFeePercent: 50,
      assetLamports: { [use.selling.mint]: '7000000' },
    });
    await worth.close();
    expect((await post(guarded, 'verify', {})).status).toBe(401);
    expect((await post(guarded, 'verify', {}, { authorization: 'Bearer guessed' })).status).toBe(401);
    await guarded.close();
  });

  it('refuse a key of the exchange API', async () => {
    await use.ledger.apiKeys.add('exchange', 'key-of-the-api');
    const guarded = await facilitatorServer(use.selling.deps({ apiKeys: use.ledger.apiKeys }));
    for (const step of ['verify', 'settle'] as const)
      expect((await post(guarded, step, {}, { authorization: 'Bearer key-of-the-api' })).status).toBe(401);
    await guarded.close();
  });

  it('have a rate limit for each caller', async () => {
    const slow = await facilitatorServer(use.selling.deps({ rateLimit: { perSecond: 0.1, burst: 2 } }));
    const codes = [];
    for (const _ of [1, 2, 3]) codes.push((await post(slow, 'verify', {})).status);
    expect(codes).toEqual([400, 400, 429]);
    const response = await slow.inject({ method: 'POST', url: '/facilitator/settle', payload: {} });
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    expect((await slow.inject('/facilitator/supported')).statusCode).toBe(200);
    await slow.close();
  });
});
