import { afterAll, beforeAll, expect, it } from 'vitest';
import { Customer, fetchUntilSettled, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  const routes = (upstream: string) => [{ path: '/weather', price: '0.001', upstream }];
  shop = await Shop.open(routes, {}, undefined, 'signer');
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

it('a payment is signed by the workers of the signer, and buys its request once', async () => {
  const customer = new Customer((await shop.buyer()).secretKey);
  const url = `${shop.url}/weather`;
  const headers = await customer.pays(url);
  const responses = [await fetchUntilSettled(url, headers), await fetchUntilSettled(url, headers)];
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect(shop.asked).toHaveLength(1);
  const [signature] = responses.map((response) => String(settlementOf(response)['transaction']));
  const payment = await shop.ledger.payments.findByName(signature ?? '');
  expect(payment).toMatchObject({ state: 'served', payer: customer.address, feePayer: shop.feePayer });
  expect(await shop.ledger.attempts.of(payment?.id ?? '')).toHaveLength(1);
});
