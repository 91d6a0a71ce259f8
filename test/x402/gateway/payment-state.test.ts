import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { gatewayApp } from '../../../src/x402/gateway/app.ts';
import { paymentStateRoute } from '../../../src/x402/gateway/gateway.ts';
import { freshDatabase } from '../../support/postgres.ts';

it('a request for the state of a payment gets no text of a database error', async () => {
  const database = await freshDatabase();
  const ledger = await openLedger(database.url);
  const handle = async () => ({ status: 404, headers: {}, body: '' });
  const app = await gatewayApp(handle, async (server) => {
    await server.register(paymentStateRoute(ledger));
  });
  try {
    const url = `/x402/payments/${'1'.repeat(64)}`;
    expect((await app.inject(url)).statusCode).toBe(404);
    await sql`alter table payment rename to moved`.execute(ledger.db);
    const response = await app.inject(url);
    expect([response.statusCode, response.json()]).toEqual([500, { error: 'Internal server error' }]);
  } finally {
    await app.close();
    await ledger.close();
    await database.drop();
  }
});
