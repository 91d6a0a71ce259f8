import { Keypair } from '@solana/web3.js';
import type { FastifyInstance } from 'fastify';
import { expect, it, vi } from 'vitest';
import type { FacilitatorLimits } from '../../../src/ledger/operations/api-keys.ts';
import type { FacilitatorDeps } from '../../../src/x402/facilitator/facilitator.ts';
import { readProxies } from '../../../src/x402/routes/client-address.ts';
import { facilitatorServer, post, useFacilitator } from './support.ts';

const use = useFacilitator();
const stranger = Keypair.generate().publicKey.toBase58();
const AMPLE = 10_000_000n;

async function guarded<T>(
  deps: Partial<FacilitatorDeps>,
  work: (app: FastifyInstance) => Promise<T>,
): Promise<T> {
  const app = await facilitatorServer(use.selling.deps({ apiKeys: use.ledger.apiKeys, ...deps }));
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

/** Adds a key of the facilitator, and returns the header of its callers. */
async function caller(name: string, limits: Partial<FacilitatorLimits> = {}) {
  await use.ledger.apiKeys.addFacilitatorKey(name, `secret-of-${name}`, limits);
  return { authorization: `Bearer secret-of-${name}` };
}

it('a key with lists of mints and of sellers permits no others, and no node is called for them', async () => {
  const headers = await caller('listed', { mints: [use.selling.mint], payTos: [use.selling.seller] });
  const [otherMint, otherSeller] = [
    await caller('mint', { mints: [stranger] }),
    await caller('seller', { payTos: [stranger] }),
  ];
  await guarded({}, async (app) => {
    const body = use.selling.version2(await use.selling.transaction());
    const read = vi.spyOn(use.selling.fixture.chain, 'accounts');
    for (const [refused, note] of [
      [otherMint, 'the mint'],
      [otherSeller, 'payments to'],
    ] as const)
      expect((await post(app, 'settle', body, refused)).body).toMatchObject({
        errorReason: 'invalid_payment_requirements',
        errorMessage: expect.stringContaining(`does not permit ${note}`),
      });
    expect(read).not.toHaveBeenCalled();
    read.mockRestore();
    expect((await post(app, 'verify', body, headers)).body).toMatchObject({ isValid: true });
    expect((await post(app, 'settle', body, headers)).body).toMatchObject({ success: true });
  });
});

it('a caller that has used its budget does not use the budget of other callers, nor of the shop', async () => {
  const poor = await caller('poor', { lamportsPerHour: 1n });
  const rich = await caller('rich', { lamportsPerHour: AMPLE });
  const usual = await caller('usual');
  const body = async () => use.selling.version2(await use.selling.transaction());
  const overBudget = {
    errorReason: 'unexpected_settle_error',
    errorMessage: expect.stringMatching(/key poor have used their fee budget/),
  };
  await guarded({ budgets: use.selling.budgets(AMPLE, AMPLE, 1n) }, async (app) => {
    for (const headers of [poor, usual])
      expect((await post(app, 'settle', await body(), headers)).body).toMatchObject({ success: true });
  });
  await guarded({ budgets: use.selling.budgets(AMPLE, AMPLE, 1n) }, async (app) => {
    expect((await post(app, 'settle', await body(), poor)).body).toMatchObject(overBudget);
    expect((await post(app, 'verify', await body(), usual)).body).toMatchObject({ isValid: false });
    expect((await post(app, 'settle', await body(), rich)).body).toMatchObject({ success: true });
  });
});

it('callers without a key share one budget', async () => {
  const open = { apiKeys: null };
  const body = async () => use.selling.version2(await use.selling.transaction());
  await guarded({ ...open, budgets: use.selling.budgets(AMPLE, AMPLE, AMPLE) }, async (app) =>
    expect((await post(app, 'settle', await body())).body).toMatchObject({ success: true }),
  );
  await guarded({ ...open, budgets: use.selling.budgets(AMPLE, AMPLE, 1n) }, async (app) =>
    expect((await post(app, 'settle', await body())).body).toMatchObject({
      errorMessage: expect.stringContaining('callers without a key'),
    }),
  );
});

it('callers without a key have a rate limit for each client of a trusted proxy; the addresses of one /64 count as one', async () => {
  const settings = { rateLimit: { perSecond: 0.01, burst: 1 }, trustedProxies: readProxies(['127.0.0.1']) };
  const codes = await guarded({ apiKeys: null, ...settings }, async (app) => {
    const answers = [];
    for (const client of [
      '203.0.113.1',
      '203.0.113.1',
      '203.0.113.2',
      '2001:db8:1:2::3',
      '2001:db8:1:2:4::5',
    ])
      answers.push((await post(app, 'verify', {}, { 'x-forwarded-for': client })).status);
    return answers;
  });
  expect(codes).toEqual([400, 429, 400, 400, 429]);
});

it('callers without a key share a rate limit, however many addresses they use', async () => {
  const settings = { rateLimit: { perSecond: 0.01, burst: 1 }, trustedProxies: readProxies(['127.0.0.1']) };
  const codes = await guarded({ apiKeys: null, ...settings }, async (app) => {
    const answers = [];
    for (let n = 1; n <= 21; n += 1)
      answers.push((await post(app, 'verify', {}, { 'x-forwarded-for': `203.0.113.${n}` })).status);
    return answers;
  });
  expect(codes).toEqual([...Array.from({ length: 20 }, () => 400), 429]);
});
