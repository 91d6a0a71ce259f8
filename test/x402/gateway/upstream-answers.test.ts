import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { askUpstream, type UpstreamOptions } from '../../../src/x402/upstream.ts';
import { Customer, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

let shop: Shop;
let serial = 0;
let bounds: UpstreamOptions[];
/** Time that the upstream takes for an answer, as simulated time: a call with a shorter limit gets no answer. */
let answersAfterMs: number;

beforeAll(async () => {
  shop = await Shop.open(
    (upstream) => [
      { path: '/report', price: '0.001', upstream },
      { path: '/order', method: 'POST', price: '0.001', timeoutSeconds: 60, upstream },
    ],
    {},
    undefined,
    'x402',
    {
      upstream: async (request, options) => {
        bounds.push(options);
        if (options.timeoutMs < answersAfterMs) return { kind: 'none', reason: 'no answer in time' };
        return askUpstream(request, options);
      },
    },
  );
  await shop.opened('/report');
});
afterAll(() => shop?.close());
beforeEach(() => {
  serial += 1;
  bounds = [];
  answersAfterMs = 0;
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

async function customer(): Promise<Customer> {
  return new Customer((await shop.buyer()).secretKey);
}

/** Pays for one request and sends it. */
async function buys(path: string, init: RequestInit = {}): Promise<Response> {
  const url = `${shop.url}${path}?n=${serial}`;
  const headers = await (await customer()).pays(url, init);
  return fetch(url, { ...init, headers });
}

async function paymentOf(response: Response) {
  return shop.ledger.payments.findByName(String(settlementOf(response)['transaction']));
}

describe('a paid request', () => {
  it('is served where its upstream takes longer than others, within the time of its route', async () => {
    answersAfterMs = 35_000;
    const response = await buys('/order', { method: 'POST', body: '{"pizza":1}' });
    expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
    expect(await paymentOf(response)).toMatchObject({ state: 'served' });
    expect(bounds).toMatchObject([{ timeoutMs: 60_000 }]);
  });
});
