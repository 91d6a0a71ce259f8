import { sql, type UpdateObject } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import { PAYMENT_EVENTS, type PaymentEvent } from '../../domain/payment.ts';
import { type Database, exists, type Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import type { KindEvents } from '../settlements/settlement-row.ts';
import { paymentGroups } from './payment-groups.ts';
import type { StoredPayment } from './payment-row.ts';

/** A payment that buys nothing has no use for its request, and a response that was stored before is not sold. */
const OBLIGATION_ENDED = { request: null, answer: null, leaseHolder: null, leaseUntil: null };

/** Callbacks that keep the state of an x402 payment consistent with its settlement. */
export const paymentEvents: KindEvents = {
  answersAt: 'confirmed',
  groups: paymentGroups,
  // A transaction that its buyer has sent is on chain already.
  mayCancel: async (trx, { id }) =>
    !(await exists(
      trx.selectFrom('payment').select('id').where('id', '=', id).where('dialect', '=', 'submitted'),
    )),
  changed: async (trx, { id, status }, before) => {
    if (status === 'confirmed' || status === 'finalized') await enterPayment(trx, id, 'paid');
    if (before.status === 'confirmed' && status === 'sending') await enterPayment(trx, id, 'taken-back');
    // A settlement that is rejected before any attempt has no `ended` event, so its payment must be ended here.
    if (status === 'rejected' || status === 'cancelled' || status === 'dead' || status === 'failed')
      await enterPayment(trx, id, 'unpaid', {
        ...OBLIGATION_ENDED,
        ...(status === 'failed' ? { failedAt: sql<Date>`now()` } : {}),
      });
  },
  ended: async (trx, { id }, _attempt, { state, amountReceived }) => {
    if (state !== 'landed') return;
    const stored = await trx
      .updateTable('payment')
      .set({ received: amountReceived, settledAt: sql<Date>`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (stored === undefined || amountReceived === undefined) return;
    if (amountReceived >= BigInt(stored.terms.amount)) return;
    const reason = `only ${amountReceived} of ${stored.terms.amount} base units of ${stored.terms.asset} were received`;
    await enterPayment(trx, id, 'short', { reason, ...OBLIGATION_ENDED });
    if (stored.state === 'served') await raiseAlert(trx, shortAlarm(stored, amountReceived));
  },
};

/** A served resource cannot be withdrawn, so an operator must settle the difference. */
function shortAlarm({ id, route, payer, terms: { asset, amount } }: StoredPayment, received: bigint): Alarm {
  const message = `payment ${id} was served for ${amount} base units of ${asset}, but only ${received} were received: settle the difference with the payer ${payer}, then close this alert`;
  return {
    kind: 'payment_short',
    subject: id,
    message,
    details: { route, payer, asset, amount, received: received.toString() },
  };
}

/**
 * Applies an event to a payment in one statement. `changes` are written only if the event changes the state. False if it
 * does not, because the state does not permit the event or the payment does not exist.
 */
export async function enterPayment(
  db: Database,
  id: string,
  event: PaymentEvent,
  changes: UpdateObject<Tables, 'payment'> = {},
): Promise<boolean> {
  const { from, to } = PAYMENT_EVENTS[event];
  const paidAt = to === 'owed' ? { paidAt: sql<Date>`now()` } : {};
  const { numUpdatedRows } = await db
    .updateTable('payment')
    .set({ ...changes, ...paidAt, state: to })
    .where('id', '=', id)
    .where('state', 'in', from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
