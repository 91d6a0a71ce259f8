import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOf, priced } from '../routes/file.ts';
import { expectPending, ManualClockShop } from './manual-clock-shop.ts';

let fixture: ManualClockShop;
beforeAll(async () => {
  fixture = await ManualClockShop.open((upstream) => [
    { path: '/weather', price: '0.001', upstream },
    { path: '/first', price: '0.001', flow: 'serve-first', timeoutSeconds: 5, upstream },
  ]);
  await fixture.shop.opened('/weather');
});
afterAll(() => fixture?.close());

it('a blockhash that can expire while the upstream is called is refused by a route with serve-first alone', async () => {
  await fixture.clock.pause();
  const first = fixture.url('/first');
  const { headers } = await fixture.prepare(first);
  // 150 blocks less 120: settle-first requires 20, serve-first 20 and those of five seconds.
  fixture.controls.produceSlots(120);
  const refused = await fetch(first, { headers });
  expect(refused.status).toBe(402);
  expect(await refused.json()).toMatchObject({ error: 'payment_expired' });
  expect(fixture.shop.asked).toEqual([]);
  await expectPending(await fetch(fixture.url('/weather'), { headers }));
});

it('a routes file must not give the upstream of serve-first longer than the blockhash of an official client lives', () => {
  const first = (timeoutSeconds: number) => priced('/first', { flow: 'serve-first', timeoutSeconds });
  expect(faultsOf([first(30)])).toEqual([]);
  expect(faultsOf([first(31)])).toEqual([
    'routes[0].timeoutSeconds: must be at most 30 with the flow serve-first: a payment can expire during a longer call',
  ]);
});
