import { expect, it } from 'vitest';
import { gatewayApp } from '../../../src/x402/gateway/app.ts';

it('an unexpected failure of a route of the gateway itself hides its cause', async () => {
  const app = await gatewayApp(
    async () => ({ status: 404, headers: {}, body: '' }),
    async (server) => {
      server.get('/x402/payments/:signature', async () => {
        throw new Error('relation "payment" of secret-host does not exist');
      });
    },
  );
  const answer = await app.inject('/x402/payments/any');
  await app.close();
  expect([answer.statusCode, answer.json()]).toEqual([500, { error: 'Internal server error' }]);
});
