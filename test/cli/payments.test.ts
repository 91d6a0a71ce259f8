import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { newPayment } from '../ledger/new-payment.ts';
import { attempt, PLENTY } from '../ledger/support.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

let service: Service;
let apiUrl: string;
const payment = newPayment();
const owed = newPayment({ route: 'POST /other' });

beforeAll(async () => {
  service = await openService();
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { payments, attempts, settlements, obligations, accessPasses } = service.ledger;
  for (const each of [payment, owed]) {
    await payments.open(each);
    await attempts.prepare(attempt(each.id), PLENTY);
    await attempts.storeSignature(each.id, 1, `sig-${each.payer}`);
    await settlements.note(each.id, 'confirmed', null);
  }
  await obligations.markServed(payment.id, 200, null);
  const landed = { state: 'landed', slot: 7n, proof: null, amountReceived: 1_000n } as const;
  await attempts.settle(payment.id, 1, landed);
  await accessPasses.issue(payment.id, '/reports/1', 300);
  await accessPasses.revoke(payment.id, { actor: 'ops', reason: 'stolen' });
});
afterAll(() => service?.close());

function sluice(...args: readonly string[]) {
  return callSluice(['payments', ...args], { env: { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY } });
}

it('sluice payments list shows the payments that pass the filter, in units of the token', async () => {
  const { stdout } = await sluice('list', '--route', 'GET /reports', '--from', '2026-01-01');
  expect(stdout).toMatch(/created +state +amount +asset .*\n.*Z +served +0\.001 +a mint +GET \/reports/);
  expect(stdout).not.toContain('POST /other');
  expect(await sluice('list', '--seller', 'facilitator')).toMatchObject({ stdout: 'no payments found\n' });
  expect((await sluice('list', '--from', 'yesterday')).code).not.toBe(0);
});

it('sluice payments get shows what happened to a payment, found by its signature', async () => {
  const { stdout } = await sluice('get', `sig-${payment.payer}`);
  for (const part of [
    `${payment.id}  served`,
    'pays       0.001 (1000 base units) of a mint to a seller',
    `payer      ${payment.payer}`,
    'route      GET /reports of the gateway, form v2',
    /confirmed {2}20.*Z\n {2}served {5}20.*Z, with status 200\n {2}finalized {2}20.*Z\n/,
    /pass {7}for \/reports\/1, until 20.*Z\n {2}revoked {4}20.*Z by ops: stolen/,
    'status     finalized',
    `attempt 1  landed  sig-${payment.payer}`,
  ])
    expect(stdout).toEqual(
      typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part),
    );
  expect(stdout).not.toContain('workflow');
  expect((await sluice('get', owed.id)).stdout).toContain(
    `workflow   ${owed.id}, if the payment needed one\n`,
  );
});

it('sluice payments revoke says whether the payment has an access pass', async () => {
  const revoke = (id: string, ...args: readonly string[]) =>
    sluice('revoke', id, '--reason', 'stolen', ...args);
  const without = `payment ${owed.id} has no access pass, and`;
  expect(await revoke(owed.id)).toMatchObject({ code: 0, stdout: `${without} will get none\n` });
  expect(await revoke(owed.id)).toMatchObject({
    code: 3,
    stdout: `${without} its revocation was stored before\n`,
  });
  const again = await revoke(payment.id);
  expect(again).toMatchObject({ code: 3, stdout: `the access pass of ${payment.id} was revoked before\n` });
  expect(jsonOf(await revoke(payment.id, '-o', 'json'))).toEqual({ revoked: false, hasPass: true });
});

it('sluice payments revenue sums up by route and day, finalized and confirmed apart', async () => {
  const { stdout } = await sluice('revenue', '--by', 'route,day');
  expect(stdout).toMatch(
    /day +route +asset +finalized +finalized payments +confirmed +confirmed payments\n20.* +GET \/reports +a mint +0\.001 +1 +0 +0\n20.* +POST \/other +a mint +0 +0 +0\.001 +1/,
  );
  expect(jsonOf(await sluice('revenue', '-o', 'json'))).toMatchObject({
    revenue: [
      {
        route: null,
        day: null,
        finalized: { payments: 1, units: '1000', amount: '0.001' },
        confirmed: { payments: 1, units: '1000', amount: '0.001' },
      },
    ],
  });
});
