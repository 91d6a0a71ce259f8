import { expect, it } from 'vitest';
import { Customer, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

it('an address that is not public proves no caller, except on localnet', async () => {
  const shop = await Shop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }], {
    SLUICE_CLUSTER: 'devnet',
  });
  try {
    await shop.opened('/weather');
    const url = `${shop.url}/weather`;
    const buyer = new Customer((await shop.buyer()).secretKey);
    const headers = await buyer.pays(url);
    expect((await fetch(url, { headers })).status).toBe(200);
    const copied = await fetch(url, { headers });
    expect(settlementOf(copied)).toMatchObject({ errorReason: 'duplicate_settlement' });
    const named = await buyer.pays(url, {}, 'pay_0123456789abcdef');
    for (const _time of [1, 2]) expect((await fetch(url, { headers: named })).status).toBe(200);
  } finally {
    await shop.close();
  }
});
