import { afterAll, beforeAll, expect, it } from 'vitest';
import { Customer } from './customer.ts';
import { Shop } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  shop = await Shop.open(
    (upstream) => [{ path: '/weather', price: '0.001', accessPass: { seconds: 60 }, upstream }],
    {
      SLUICE_X402_TRUSTED_PROXIES: '127.0.0.1',
      SLUICE_X402_PAYMENTS_PER_SECOND: '1',
    },
  );
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

it('many payments or passes of one client address at once get 429 before a node is asked; other addresses and requests without a payment are answered', async () => {
  const url = `${shop.url}/weather`;
  const payment = await new Customer((await shop.buyer(0n)).secretKey).pays(url);
  const send = async (address: string, headers = {}) =>
    fetch(url, { headers: { ...headers, 'x-forwarded-for': address } });
  const untracked = { ...payment, forwarded: 'for=8.8.4.4', via: 'x' };
  const kinds = [payment, untracked, { 'sluice-access-pass': 'a pass' }, { 'sign-in-with-x': 'a proof' }];
  for (const [index, shown] of kinds.entries()) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(`8.8.4.${index}`, shown)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await send('8.8.8.8', payment)).status).toBe(402);
  expect((await send('8.8.4.1')).status).toBe(402);
});
