import { expect, it } from 'vitest';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { gatewayApp } from '../../../src/x402/gateway/app.ts';
import { gatewayHealthRoute } from '../../../src/x402/gateway/health.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { Shop } from './shop.ts';

async function health(shop: Shop, method = 'GET') {
  const response = await fetch(`${shop.url}/healthz`, { method });
  return { status: response.status, body: method === 'GET' ? await response.json() : null };
}

it('GET /healthz of the gateway is 200 while a route is sold, and 503 with the reasons while none is', async () => {
  const routes = (upstream: string) => [
    { path: '/item', price: '0.001', upstream },
    { path: '/*', free: true, answer: { body: 'all other paths' } },
  ];
  const shop = await Shop.open(routes);
  try {
    await shop.opened('/item');
    const body = { status: 'ok', database: true, routes: { priced: 1, open: 1 }, reasons: [] };
    expect(await health(shop)).toEqual({ status: 200, body });
    expect(await health(shop, 'HEAD')).toEqual({ status: 200, body: null });
    const withoutTokenAccount = shop.feePayer;
    await shop.reopen(routes, withoutTokenAccount);
    const reasons = [expect.stringContaining('token account')];
    const closed = { ...body, status: 'unavailable', routes: { priced: 1, open: 0 }, reasons };
    expect(await health(shop)).toEqual({ status: 503, body: closed });
  } finally {
    await shop.close();
  }
}, 60_000);

it('GET /healthz of the gateway is 503 if PostgreSQL does not answer', async () => {
  const database = await freshDatabase();
  const ledger = await openLedger(database.url);
  await ledger.close();
  await database.drop();
  const handle = async () => ({ status: 404, headers: {}, body: '' });
  const app = await gatewayApp(handle, async (server) => {
    await server.register(gatewayHealthRoute(ledger, { all: () => [] }));
  });
  const response = await app.inject('/healthz');
  await app.close();
  expect([response.statusCode, response.json()]).toMatchObject([503, { database: false, reasons: [] }]);
});
