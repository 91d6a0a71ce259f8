import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { fetchTerms, signPayment } from '../../../devkit/localstack/buyer.ts';
import { Customer } from './customer.ts';
import { expectPending } from './manual-clock-shop.ts';
import { Shop } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  // A payment stays valid for 15 seconds, also on a busy machine.
  const chain = { slotMs: 100, finalityLag: 8, nodes: 2 };
  shop = await Shop.open(
    (upstream) => [
      { path: '/small', price: '1', upstream },
      { path: '/large', price: '1.000001', maxTimeoutSeconds: 5, upstream },
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

it('the success of the facilitator for a payment above one unit needs a second node, too', async () => {
  const [header = ''] = Object.values(await payment('/large'));
  const paymentPayload = JSON.parse(Buffer.from(header, 'base64').toString()) as { accepted: object };
  const body = JSON.stringify({
    x402Version: 2,
    paymentPayload,
    paymentRequirements: paymentPayload.accepted,
  });
  const settle = async () => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${shop.url}/facilitator/settle`, { method: 'POST', headers, body });
    return response.json();
  };
  hideStatuses();
  expect(await settle()).toMatchObject({ success: false, errorReason: 'settlement_pending' });
  shop.localnet.controls.clearFaults();
  expect(await settle()).toMatchObject({ success: true });
});

it('a transaction that one node falsely reports as landed is not recorded, and buys later', async () => {
  const { secretKey, rpcUrl } = await shop.buyer();
  const { headers } = await signPayment('example', await fetchTerms(`${shop.url}/small`), secretKey, rpcUrl);
  const before = await shop.ledger.payments.list({ limit: 200 });
  shop.localnet.controls.setFault(0, 'getSignatureStatuses', { kind: 'false-status', lie: 'confirmed' });
  expect((await fetch(`${shop.url}/small`, { headers })).status).toBe(402);
  expect(await shop.ledger.payments.list({ limit: 200 })).toEqual(before);
  shop.localnet.controls.clearFaults();
  expect((await fetch(`${shop.url}/small`, { headers })).status).toBe(200);
});
