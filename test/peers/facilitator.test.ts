import { HTTPFacilitatorClient } from '@x402/core/server';
import { declareDiscoveryExtension, type QueryDiscoveryExtension, withBazaar } from '@x402/extensions/bazaar';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
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

describe('the list of resources', () => {
  const declared = declareDiscoveryExtension({
    input: { city: 'Paris' },
    output: { example: { degrees: 20 } },
  });
  const { info, schema } = Object.values(declared)[0] as QueryDiscoveryExtension;
  const extension = { info: { ...info, input: { ...info.input, method: 'GET' } }, schema };

  async function settle(
    server: FastifyInstance,
    url: string,
    bazaar: object,
    headers: Record<string, string>,
  ) {
    const body = selling.version2(await selling.transaction());
    const paymentPayload = {
      ...body.paymentPayload,
      resource: { url, description: 'The weather' },
      extensions: { bazaar },
    };
    const response = await server.inject({
      method: 'POST',
      url: '/facilitator/settle',
      headers,
      payload: { ...body, paymentPayload },
    });
    expect(response.json()).toMatchObject({ success: true });
    const reported = String(response.headers['extension-responses']);
    return JSON.parse(Buffer.from(reported, 'base64').toString()).bazaar as {
      status: string;
      rejectedReason?: string;
    };
  }

  it('has the resources that callers with a key have sold, as the official client reads them, until the key is revoked', async () => {
    const headers = { authorization: 'Bearer secret' };
    const dynamic = { ...extension, routeTemplate: '/weather/:city' };
    const paris = await settle(app, 'https://shop.example/weather/Paris?day=1', dynamic, headers);
    const london = await settle(app, 'https://shop.example/weather/London', dynamic, headers);
    expect([paris, london]).toEqual([{ status: 'processing' }, { status: 'processing' }]);
    const open = await facilitatorServer(selling.deps());
    const refusals = [
      await settle(open, 'https://shop.example/other', extension, {}),
      await settle(app, 'http://gateway.example/own', extension, headers),
      await settle(app, 'file:///etc/passwd', extension, headers),
      await settle(
        app,
        'https://shop.example/x',
        { ...extension, info: { input: { type: 'http', method: 'POST' } } },
        headers,
      ),
    ];
    expect(refusals.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    await vi.waitFor(async () => expect(await use.ledger.catalog.list(1, 10)).toHaveLength(1));
    const { items, pagination } = await withBazaar(client).extensions.bazaar.listResources({
      payTo: selling.seller,
      limit: 5,
    });
    expect(pagination).toEqual({ limit: 5, offset: 0, total: 1 });
    expect(items).toMatchObject([
      {
        resource: 'https://shop.example/weather/:city',
        type: 'http',
        x402Version: 2,
        accepts: [{ amount: PRICE.toString(), payTo: selling.seller }],
        description: 'The weather',
        extensions: { bazaar: { info: { input: { queryParams: { city: 'Paris' } } } } },
      },
    ]);
    const other = await open.inject('/facilitator/discovery/resources?payTo=another');
    expect(other.json()).toMatchObject({ items: [], pagination: { total: 0 } });
    expect((await open.inject('/facilitator/discovery/resources?limit=0')).statusCode).toBe(400);
    await open.close();
    await use.ledger.apiKeys.revoke('shop');
    expect(await use.ledger.catalog.list(1, 10)).toEqual([]);
    await use.ledger.apiKeys.addFacilitatorKey('shop', 'secret');
  });

  it('has at most 100 resources of one key', async () => {
    const item = { accepts: [] };
    for (let count = 0; count < 103; count += 1)
      await use.ledger.catalog.put('shop', {
        resource: `https://shop.example/${count}`,
        method: 'GET',
        item,
      });
    const urls = (await use.ledger.catalog.list(1, 500)).map(({ resource }) => resource);
    expect([urls.length, urls[0], urls.at(-1)]).toEqual([
      100,
      'https://shop.example/102',
      'https://shop.example/3',
    ]);
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
