import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Payment, PaymentDetails, PaymentPage, Revenue } from '../../../src/client/client.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { attempt, PLENTY } from '../../ledger/support.ts';
import { authorization, openService, type Service } from '../service.ts';

let service: Service;
const [settled, unsigned, seen] = [newPayment(), newPayment(), newPayment({ signature: 'of the buyer' })];

beforeAll(async () => {
  service = await openService();
  const { payments, attempts } = service.ledger;
  for (const payment of [settled, unsigned]) {
    await payments.open(payment);
    await attempts.prepare(attempt(payment.id), PLENTY);
  }
  await attempts.storeSignature(settled.id, 1, 'of an attempt');
  await service.ledger.settlements.note(settled.id, 'confirmed', null);
  const { request: _request, answer: _answer, lease: _lease, ...row } = seen;
  await payments.storeUnmatched({ ...row, reason: 'it was on the chain before' });
});
afterAll(() => service?.close());

async function ask<Body>(path: string): Promise<Body> {
  return (await service.app.inject({ url: `/v1/payments${path}`, headers: { authorization } })).json();
}

it('the payment list has the signature of each payment, newest first, even of a payment that bought nothing', async () => {
  const { payments } = await ask<PaymentPage>('');
  expect(payments.map(({ id, signature }) => [id, signature])).toEqual([
    [seen.id, 'of the buyer'],
    [unsigned.id, null],
    [settled.id, 'of an attempt'],
  ]);
});

it('a list has the payments that pass the filter, and a wrong filter is refused', async () => {
  const idsOf = async (query: string) => (await ask<PaymentPage>(`?${query}`)).payments.map(({ id }) => id);
  const today = new Date().toISOString();
  expect(await idsOf(`payer=${settled.payer}&state=owed&seller=facilitator`)).toEqual([]);
  expect(await idsOf(`payer=${settled.payer}&state=owed&route=GET%20/reports&from=2026-01-01`)).toEqual([
    settled.id,
  ]);
  expect(await idsOf(`from=${today}`)).toEqual([]);
  for (const query of [
    'asset=usdc',
    'asset=SOL',
    'seller=me',
    'from=yesterday',
    'to=2026-13-01',
    'from=2026-01-01T00:00:00',
    'route=',
  ])
    expect(await ask(`?${query}`)).toMatchObject({ status: 400, code: 'InvalidRequest' });
});

it('a single payment has its settlement, its attempts and its open alerts', async () => {
  await service.ledger.alerts.raise({ kind: 'payment_short', subject: settled.id, message: 'too little' });
  expect(await ask<PaymentDetails>(`/${encodeURIComponent(settled.id)}`)).toMatchObject({
    id: settled.id,
    state: 'owed',
    decimals: 6,
    settlement: { status: 'confirmed', workflowId: settled.id, reason: null },
    attempts: [{ n: 1, state: 'signed', signature: 'of an attempt' }],
    alerts: [{ kind: 'payment_short', message: 'too little' }],
  });
  expect(await ask<PaymentDetails>(`/${encodeURIComponent(seen.id)}`)).toMatchObject({
    settlement: null,
    accessPass: null,
    passRevocation: null,
    attempts: [],
    alerts: [],
  });
});

it('the revenue has sums in the token, of the last 30 days in UTC by default, and of at most 366 days', async () => {
  const row = { asset: 'a mint', decimals: 6, finalized: { payments: 0, units: '0', amount: '0' } };
  const confirmed = { payments: 1, units: '1000', amount: '0.001' };
  const all = await ask<Revenue>('/revenue');
  expect(all.revenue).toEqual([{ ...row, route: null, day: null, confirmed }]);
  const { from, to } = all;
  expect([from.slice(10), (Date.parse(to) - Date.parse(from)) / 86_400_000]).toEqual([
    'T00:00:00.000Z',
    expect.closeTo(29.5, -1),
  ]);
  const by = await ask<Revenue>(`/revenue?by=route,day&payer=${settled.payer}`);
  const day = (await service.ledger.payments.get(settled.id)).createdAt.toISOString().slice(0, 10);
  expect(by.revenue).toEqual([{ ...row, route: 'GET /reports', day, confirmed }]);
  expect((await ask<Revenue>(`/revenue?by=day&payer=none`)).revenue).toEqual([]);
  for (const query of ['from=2024-01-01&to=2026-01-01', 'from=2026-02-01&to=2026-01-01', 'by=asset'])
    expect(await ask(`/revenue?${query}`)).toMatchObject({ status: 400, code: 'InvalidRequest' });
});

it('the asset USDC is its mint on the cluster of the API, in the list and in the revenue', async () => {
  const base = newPayment();
  const mint = NETWORKS.devnet.usdc;
  const payment = { ...base, terms: { ...base.terms, asset: mint } };
  const { payments, attempts, settlements } = service.ledger;
  await payments.open(payment);
  for (const asset of ['USDC', mint])
    expect((await ask<PaymentPage>(`?asset=${asset}`)).payments).toMatchObject([{ id: payment.id }]);
  await attempts.prepare(attempt(payment.id), PLENTY);
  await attempts.storeSignature(payment.id, 1, 'of USDC');
  await settlements.note(payment.id, 'confirmed', null);
  const { revenue } = await ask<Revenue>(`/revenue?asset=USDC&payer=${payment.payer}`);
  expect(revenue).toMatchObject([{ asset: mint, confirmed: { payments: 1 } }]);
});

it('a single payment has its signature', async () => {
  for (const [{ id }, signature] of [
    [settled, 'of an attempt'],
    [seen, 'of the buyer'],
  ] as const)
    expect(await ask<Payment>(`/${encodeURIComponent(id)}`)).toMatchObject({ id, signature });
});

it('the access pass of a payment is revoked once, with the caller as its actor', async () => {
  const revoke = async (name: string) => {
    const url = `/v1/payments/${encodeURIComponent(name)}/revoke`;
    const payload = { reason: 'a stolen pass' };
    return service.app.inject({ method: 'POST', url, headers: { authorization }, payload });
  };
  expect((await revoke(settled.id)).json()).toEqual({ revoked: true });
  expect((await revoke(settled.id)).json()).toEqual({ revoked: false });
  expect((await revoke('none')).statusCode).toBe(404);
  const rows = await service.ledger.db.selectFrom('passRevocation').selectAll().execute();
  expect(rows).toMatchObject([{ paymentId: settled.id, actor: 'tests', reason: 'a stolen pass' }]);
  expect(await ask<PaymentDetails>(`/${encodeURIComponent(settled.id)}`)).toMatchObject({
    accessPass: null,
    passRevocation: { actor: 'tests', reason: 'a stolen pass', revokedAt: expect.stringMatching(/Z$/) },
  });
});

it('a page of payments needs as many SQL statements as a single payment', async () => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await ask('?limit=1');
  const ofOne = query.mock.calls.length;
  await ask('?limit=3');
  expect(query.mock.calls.length - ofOne).toBe(ofOne);
  query.mockRestore();
});
