import { expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logging.ts';
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

it('no log line of a request has its payment, access pass or sign-in', async () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'trace', name: 'gateway', destination });
  const fail = () => Promise.reject(new Error('a fault'));
  const app = await gatewayApp(fail, async () => undefined, logger);
  const names = ['payment-signature', 'x-payment', 'sluice-access-pass', 'sign-in-with-x', 'authorization'];
  const headers = Object.fromEntries(names.map((name) => [name, `secret of ${name}`]));
  await app.inject({ url: '/weather', headers });
  await app.close();
  expect(lines.join('')).toContain('/weather');
  expect(lines.join('')).not.toContain('secret of');
});
