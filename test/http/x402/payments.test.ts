import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Payment, PaymentPage } from '../../../src/client/client.ts';
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
});

it('a page of payments needs as many SQL statements as a single payment', async () => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await ask('?limit=1');
  const ofOne = query.mock.calls.length;
  await ask('?limit=3');
  expect(query.mock.calls.length - ofOne).toBe(ofOne);
  query.mockRestore();
});
