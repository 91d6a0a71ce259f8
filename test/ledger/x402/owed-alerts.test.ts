import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { newPayment } from '../new-payment.ts';
import { attempt, PLENTY, useLedger } from '../support.ts';

const use = useLedger();

/** An owed payment that was paid so many seconds ago. */
async function owed(route: string, secondsAgo: number, seller: 'gateway' | 'facilitator' = 'gateway') {
  const { payments, attempts, settlements, db } = use.ledger;
  const { id } = newPayment();
  await payments.open(newPayment({ id, route, seller }));
  await attempts.prepare(attempt(id), PLENTY);
  await attempts.storeSignature(id, 1, `sig-${id}`);
  await settlements.note(id, 'confirmed', null);
  const paidAt = sql<Date>`now() - make_interval(secs => ${secondsAgo})`;
  await db.updateTable('payment').set({ paidAt }).where('id', '=', id).execute();
  return id;
}

async function openAlerts() {
  await use.ledger.obligations.updateOwedAlerts();
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 50 });
  return rows.map(({ kind, subject, details }) => ({ kind, subject, details }));
}

it('paid requests that are neither served nor refundable after a minute have one alert for each route, which closes itself', async () => {
  const { obligations } = use.ledger;
  const [oldest, other] = [await owed('GET /slow', 7_200), await owed('GET /slow', 120)];
  const refused = await owed('POST /down', 120);
  await owed('GET /fresh', 10);
  await owed('facilitator/shop', 7_200, 'facilitator');
  const alertOf = (subject: string, payments: number, id: string) => ({
    kind: 'payment_owed',
    subject,
    details: { payments, oldest: id, since: expect.any(String) },
  });
  expect(await openAlerts()).toEqual([alertOf('POST /down', 1, refused), alertOf('GET /slow', 2, oldest)]);
  await obligations.markServed(oldest, 200, null);
  await obligations.markRefused(refused, 'the upstream returned 404', null);
  expect(await openAlerts()).toEqual([alertOf('GET /slow', 1, other)]);
  await obligations.markServed(other, 200, null);
  expect(await openAlerts()).toEqual([]);
});
