import { type Selectable, sql, type UpdateObject } from 'kysely';
import { type PaymentEvent, paymentMove } from '../../domain/payment.ts';
import type { Database, Tables } from '../database.ts';

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

/** Moves a payment along the table of its states; `changes` are written where the event changes the state. One statement. */
export async function enterPayment(
  db: Database,
  id: string,
  event: PaymentEvent,
  changes: Changes = {},
): Promise<void> {
  const { from, to } = paymentMove(event);
  const paidAt = to === 'owed' ? { paidAt: sql<Date>`now()` } : {};
  await db
    .updateTable('payment')
    .set({ ...changes, ...paidAt, state: to })
    .where('id', '=', id)
    .where('state', 'in', from)
    .execute();
}
