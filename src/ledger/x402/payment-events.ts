import { sql, type UpdateObject } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import { PAYMENT_EVENTS, type PaymentEvent } from '../../domain/payment.ts';
import type { Database, Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import type { KindEvents } from '../settlements/settlement-row.ts';
import type { StoredPayment } from './payment-row.ts';

/** What x402 payments have beside their settlements: what they have bought. */
export const paymentEvents: KindEvents = {
  answersAt: 'confirmed',
  changed: async (trx, { id, status }, before) => {
    if (status === 'confirmed' || status === 'finalized') await enterPayment(trx, id, 'paid');
    if (before.status === 'confirmed' && status === 'sending') await enterPayment(trx, id, 'taken-back');
    // Nothing else ends the payment of a settlement that was rejected before any attempt.
    if (status === 'rejected' || status === 'cancelled' || status === 'dead' || status === 'failed')
      await enterPayment(trx, id, 'unpaid', { request: null });
  },
  ended: async (trx, { id }, _attempt, { state, amountReceived }) => {
    if (state !== 'landed' || amountReceived === undefined) return;
    const stored = await trx
      .updateTable('payment')
      .set({ received: amountReceived })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (stored === undefined || amountReceived >= BigInt(stored.terms.amount)) return;
    const reason = `${amountReceived} of ${stored.terms.amount} base units arrived`;
    await enterPayment(trx, id, 'short', { reason });
    if (stored.state === 'served') await raiseAlert(trx, shortAlarm(stored, amountReceived));
  },
};

/** A served resource cannot be taken back: the operator decides what follows. */
function shortAlarm({ id, route, payer, terms: { asset, amount } }: StoredPayment, received: bigint): Alarm {
  const message = `the payment ${id} was served for ${amount} base units of ${asset}, but ${received} arrived: settle the difference with ${payer}, then close this alert`;
  return {
    kind: 'payment_short',
    subject: id,
    message,
    details: { route, payer, asset, amount, received: received.toString() },
  };
}

/** `changes` are written only if the event changes the state. One statement. */
export async function enterPayment(
  db: Database,
  id: string,
  event: PaymentEvent,
  changes: UpdateObject<Tables, 'payment'> = {},
): Promise<void> {
  const { from, to } = PAYMENT_EVENTS[event];
  const paidAt = to === 'owed' ? { paidAt: sql<Date>`now()` } : {};
  await db
    .updateTable('payment')
    .set({ ...changes, ...paidAt, state: to })
    .where('id', '=', id)
    .where('state', 'in', from)
    .execute();
}
