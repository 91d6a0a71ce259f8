import { HTTPFacilitatorClient } from '@x402/core/server';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettleResponseSchema, VerifyResponseSchema } from 'x402/types';
import { useLedger } from '../ledger/support.ts';
import { NETWORK, PRICE, SellingFixture } from '../x402/facilitator/selling-fixture.ts';
import { facilitatorServer, post } from '../x402/facilitator/support.ts';

const use = useLedger();
let selling: SellingFixture;
let app: FastifyInstance;
let client: HTTPFacilitatorClient;

beforeAll(async () => {
  selling = await SellingFixture.open(use.ledger);
  await use.ledger.apiKeys.addFacilitatorKey('shop', 'secret');
  app = await facilitatorServer(selling.deps({ apiKeys: use.ledger.apiKeys }));
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: 'Bearer secret' };
  client = new HTTPFacilitatorClient({
    url: `${address}/facilitator`,
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  });
});
afterAll(async () => {
  await app?.close();
  await selling?.close();
});

describe('the official client of a facilitator', () => {
  it('reads the supported kinds', async () => {
    const { kinds } = await client.getSupported();
    expect(kinds.map(({ x402Version }) => x402Version)).toEqual([2, 1]);
  });

  it('verifies and settles in version 2, and reads the refusal of a duplicate', async () => {
    const { paymentPayload, paymentRequirements } = selling.version2(await selling.transaction());
    const network = NETWORK.caip2 as `${string}:${string}`;
    const requirements = { ...paymentRequirements, network };
    const payload = { ...paymentPayload, accepted: requirements } as const;
    expect(await client.verify(payload, requirements)).toMatchObject({ isValid: true });
    expect(await client.settle(payload, requirements)).toMatchObject({
      success: true,
      network,
      amount: PRICE.toString(),
    });
    expect(await client.settle(payload, requirements)).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
    });
  });
});

describe('the schemas of the official client of version 1', () => {
  it('parse the answers of the facilitator', async () => {
    const headers = { authorization: 'Bearer secret' };
    const body = selling.version1(await selling.transaction());
    const verified = await post(app, 'verify', body, headers);
    expect(VerifyResponseSchema.parse(verified.body)).toMatchObject({ isValid: true });
    const settled = await post(app, 'settle', body, headers);
    expect(SettleResponseSchema.parse(settled.body)).toMatchObject({ success: true });
  });
});
