import { HTTPFacilitatorClient } from '@x402/core/server';
import type { PaymentPayload } from '@x402/core/types';
import { extractDiscoveryInfo, withBazaar } from '@x402/extensions/bazaar';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkUrl } from '../../src/x402/check/check-url.ts';
import { Shop } from '../x402/gateway/shop.ts';
import { type Buy, legacyBuyer, signInBuyer, version1Buyer, version2Buyer } from './buyers.ts';
import { buyAsExample, buyAsSubmitter } from './example-client.ts';
import { PRICED, startPeerServer } from './peer-server.ts';

/** The access pass in the interface's paid response. */
interface PassDetails {
  readonly paymentDetails: { readonly accessPass: { readonly token: string; readonly expiresAt: string } };
}
const DISCOVERY = {
  input: { schema: { properties: { year: { type: 'string' } } }, example: { year: '2026' } },
  output: { schema: { type: 'object' }, example: { pages: 3 } },
};

let shop: Shop;
beforeAll(async () => {
  shop = await Shop.open((upstream) => [
    { path: '/weather', price: '0.001', description: 'The weather', upstream },
    { path: '/report', price: '0.001', accessPass: { seconds: 3_600 }, upstream },
    { path: '/reports/:id', price: '0.001', description: 'A report', discovery: DISCOVERY, upstream },
    { path: '/about', free: true, upstream },
  ]);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

describe('the gateway sells to', () => {
  it.each([
    ['the official client of version 2', version2Buyer],
    ['the official client of version 1', version1Buyer],
    ['the last client of version 1 alone', legacyBuyer],
  ] as const)('%s', async (_what, client) => {
    const buyer = await shop.buyer();
    const buy: Buy = await client(buyer);
    const before = shop.asked.length;
    const { response, settlement } = await buy(`${shop.url}/weather`);
    expect(await response.text()).toBe(JSON.stringify({ count: before + 1 }));
    expect(response.status).toBe(200);
    expect(settlement).toMatchObject({ success: true, payer: buyer.address });
    expect(shop.asked).toHaveLength(before + 1);
  });

  it.each([
    ['lets the server submit its transaction', buyAsExample],
    ['submits its transaction itself', buyAsSubmitter],
  ] as const)('a client of the interface that %s', async (_what, buyAs) => {
    const buyer = await shop.buyer();
    const before = shop.asked.length;
    const { response, quote } = await buyAs(`${shop.url}/weather`, buyer);
    expect(await response.json()).toMatchObject({
      data: JSON.stringify({ count: before + 1 }),
      paymentDetails: { amount: 1000, amountStable: 0.001, recipient: quote.tokenAccount },
    });
    expect(response.status).toBe(200);
  });

  it('each client once, which then uses the access pass of its payment once', async () => {
    const url = `${shop.url}/report`;
    const day = (path: string, number: number) => `${path}?day=${number}`;
    for (const client of [version2Buyer, version1Buyer, legacyBuyer]) {
      const buy = await client(await shop.buyer());
      const { response: paid } = await buy(day(url, 1));
      const pass = paid.headers.get('sluice-access-pass') ?? '';
      const { response, settlement } = await buy(day(url, 2), { headers: { 'sluice-access-pass': pass } });
      expect([paid.status, response.status, settlement]).toEqual([200, 200, null]);
    }
    for (const buyAs of [buyAsExample, buyAsSubmitter]) {
      const { response: paid } = await buyAs(day(url, 1), await shop.buyer());
      const { paymentDetails } = (await paid.json()) as PassDetails;
      const { accessPass } = paymentDetails;
      expect(Date.parse(accessPass.expiresAt)).toBeGreaterThan(0);
      const headers = { authorization: `Bearer ${accessPass.token}` };
      expect((await fetch(day(url, 2), { headers })).status).toBe(200);
    }
    const signIn = await signInBuyer(await shop.buyer());
    const first = await signIn(day(url, 1));
    const second = await signIn(day(url, 2));
    expect([first.response.status, first.settlement?.success]).toEqual([200, true]);
    expect([second.response.status, second.settlement]).toEqual([200, null]);
    const sold = (await shop.ledger.payments.list({ limit: 100 })).rows;
    expect(sold.filter(({ route }) => route === 'GET /report')).toHaveLength(6);
    expect(shop.asked.filter(({ target }) => target === '/report?day=1')).toHaveLength(6);
    expect(shop.asked.filter(({ target }) => target === '/report?day=2')).toHaveLength(6);
  });

  it('the server of the official packages, which sells through our facilitator', async () => {
    const server = await startPeerServer({ facilitatorUrl: `${shop.url}/facilitator`, payTo: shop.seller });
    try {
      const checked = await checkUrl(server.url + PRICED.path, 'GET', shop.rpcUrl);
      expect(checked).toMatchObject({
        ok: true,
        faults: [],
        offers: [{ form: 'v2', amount: PRICED.amount }],
      });
      const buy = await version2Buyer(await shop.buyer());
      const { response, settlement } = await buy(server.url + PRICED.path);
      expect([response.status, await response.json()]).toEqual([200, PRICED.body]);
      expect(settlement).toMatchObject({ success: true });
      const sold = await shop.ledger.payments.findByName(settlement?.transaction ?? '');
      await vi.waitFor(async () =>
        expect(await shop.ledger.payments.find(sold?.id ?? '')).toMatchObject({
          seller: 'facilitator',
          state: 'served',
        }),
      );
    } finally {
      await server.close();
    }
  });

  it('the official client, which finds a route with its terms in the list, and sends its description with the payment', async () => {
    const resource = `${shop.url}/reports/:id`;
    const facilitator = withBazaar(new HTTPFacilitatorClient({ url: `${shop.url}/facilitator` }));
    await shop.opened('/reports/7');
    const { items, pagination } = await facilitator.extensions.bazaar.listResources({ type: 'http' });
    expect(items.map((item) => item.resource)).toEqual([resource]);
    expect(items).toMatchObject([
      { type: 'http', accepts: [{ amount: '1000', payTo: shop.seller }], description: 'A report' },
    ]);
    expect(pagination).toEqual({ limit: 20, offset: 0, total: 1 });
    const sent: unknown[] = [];
    const spy: typeof fetch = async (input, init) => {
      const { headers } = new Request(input, init);
      sent.push(decodePaymentSignature(headers.get('payment-signature')));
      return fetch(input, init);
    };
    const buy = await version2Buyer({ ...(await shop.buyer()), fetch: spy });
    const { response } = await buy(`${shop.url}/reports/7?year=2026`);
    expect(response.status).toBe(200);
    const payload = sent.at(-1) as PaymentPayload;
    const found = extractDiscoveryInfo(payload, payload.accepted);
    expect(found).toMatchObject({
      resourceUrl: resource,
      method: 'GET',
      routeTemplate: '/reports/:id',
      discoveryInfo: {
        input: { queryParams: { year: '2026' }, pathParams: { id: '7' } },
        output: { example: { pages: 3 } },
      },
    });
  });

  it('no client where the route is free', async () => {
    const response = await fetch(`${shop.url}/about`);
    expect(response.status).toBe(200);
  });
});

function decodePaymentSignature(header: string | null): unknown {
  return header === null ? null : JSON.parse(Buffer.from(header, 'base64').toString());
}
