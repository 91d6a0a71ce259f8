import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Customer } from './customer.ts';
import { expectPending } from './manual-clock-shop.ts';
import { Shop } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  const chain = { slotMs: 50, finalityLag: 8, nodes: 2 };
  shop = await Shop.open(
    (upstream) => [
      { path: '/small', price: '1', upstream },
      { path: '/large', price: '1.000001', upstream },
      { path: '/own', price: '0.001', confirmedByTwoAbove: '0.0009', upstream },
    ],
    {},
    chain,
    'x402',
    { answerWithinMs: 3_000 },
  );
  for (const path of ['/small', '/large', '/own']) await shop.opened(path);
});
afterAll(() => shop?.close());
afterEach(() => shop.localnet.controls.clearFaults());

async function payment(path: string): Promise<Record<string, string>> {
  return new Customer((await shop.buyer()).secretKey).pays(shop.url + path);
}

/** From now on only one node returns statuses, and no block is finalized. */
function hideStatuses(): void {
  const { controls } = shop.localnet;
  const { slot } = controls.chain.ledger.tip;
  for (const node of [0, 1]) controls.setFault(node, '*', { kind: 'stuck-finality', slot: Number(slot) });
  controls.setFault(1, 'getSignatureStatuses', { kind: 'http', status: 503 });
}

it('a payment up to the amount is served at the report of one node', async () => {
  const headers = await payment('/small');
  hideStatuses();
  expect((await fetch(`${shop.url}/small`, { headers })).status).toBe(200);
});

it.each(['/large', '/own'])(
  'a payment above the amount is served only after a second node reports it as confirmed: %s',
  async (path) => {
    shop.asked.length = 0;
    const headers = await payment(path);
    hideStatuses();
    await expectPending(await fetch(shop.url + path, { headers }));
    expect(shop.asked).toEqual([]);
    shop.localnet.controls.clearFaults();
    const served = await fetch(shop.url + path, { headers });
    expect([served.status, shop.asked.length]).toEqual([200, 1]);
  },
);
