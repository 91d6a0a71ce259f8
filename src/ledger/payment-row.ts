import { type Selectable, sql, type Transaction, type UpdateObject } from 'kysely';
import { type PaymentEvent, paymentAfter } from '../domain/payment.ts';
import type { Tables } from './database.ts';

/** A payment as the database has it, what is sealed included. */
export type StoredPayment = Selectable<Tables['payment']>;

/** A payment without what is sealed. */
export type PaymentRow = Omit<StoredPayment, 'request' | 'answer'> & {
  /** Whether its answer is stored. */
  readonly isAnswered: boolean;
};

/** The row as the database gives it, in the shape of this program. */
export function toPaymentRow({ request: _request, answer, ...row }: StoredPayment): PaymentRow {
  return { ...row, isAnswered: answer !== null };
}

type Changes = UpdateObject<Tables, 'payment'>;

/**
 * Moves a payment along the table of its states, under a lock of its row; `changes` are written where the event changes the state. Null
 * where there is no such payment.
 */
export async function enterPayment(
  trx: Transaction<Tables>,
  id: string,
  event: PaymentEvent,
  changes: Changes = {},
): Promise<StoredPayment | null> {
  const stored = await trx
    .selectFrom('payment')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (stored === undefined) return null;
  const state = paymentAfter(stored.state, event);
  if (state === stored.state) return stored;
  const moved = { ...changes, state, ...(state === 'owed' ? { paidAt: sql<Date>`now()` } : {}) };
  return trx.updateTable('payment').set(moved).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}
