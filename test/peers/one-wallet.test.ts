import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { paymentsOnChain } from '../../devkit/localstack/chain-truth.ts';
import { Shop } from '../x402/gateway/shop.ts';
import { version2Buyer } from './buyers.ts';

const SALES = 60;

let shop: Shop;
beforeAll(async () => {
  shop = await Shop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }]);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

it.each([
  { inFlight: 8, identifiers: false },
  { inFlight: 16, identifiers: false },
  { inFlight: 8, identifiers: true },
  { inFlight: 16, identifiers: true },
])(
  'one wallet buys one target 60 times with $inFlight requests in flight, identifiers: $identifiers',
  async ({ inFlight, identifiers }) => {
    const buyer = await shop.buyer();
    const newIdentifier = identifiers ? () => `pay_${randomUUID()}` : null;
    const buy = await version2Buyer({ ...buyer, ...(newIdentifier && { newIdentifier }) });
    shop.asked.length = 0;
    const purchases = await pLimit(inFlight).map(
      Array.from({ length: SALES }, () => `${shop.url}/weather`),
      async (url) => {
        const { response, settlement } = await buy(url);
        return { status: response.status, body: await response.text(), signature: settlement?.transaction };
      },
    );
    expect(purchases.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(purchases.map(({ body }) => body)).size).toBe(SALES);
    const signatures = new Set(purchases.map(({ signature }) => signature));
    expect(signatures.size).toBe(SALES);
    expect(shop.asked).toHaveLength(SALES);
    await vi.waitFor(async () => {
      const transfers = await paymentsOnChain(shop.rpcUrl, buyer.address);
      expect(new Set(transfers.map((transfer) => transfer.signature))).toEqual(signatures);
      expect(transfers).toHaveLength(SALES);
    }, 20_000);
  },
  120_000,
);
