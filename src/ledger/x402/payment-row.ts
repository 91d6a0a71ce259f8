import { type Selectable, sql, type UpdateObject } from 'kysely';
import { type PaymentEvent, paymentMove } from '../../domain/payment.ts';
import type { Database, Tables } from '../database.ts';

/** A payment row with its sealed columns. */
export type StoredPayment = Selectable<Tables['payment']>;

/** A payment without its sealed columns. */
export type PaymentRow = Omit<StoredPayment, 'request' | 'answer'> & {
  /** True if its answer is stored. */
  readonly isAnswered: boolean;
};

export function toPaymentRow({ request: _request, answer, ...row }: StoredPayment): PaymentRow {
  return { ...row, isAnswered: answer !== null };
}

type PaymentUpdate = UpdateObject<Tables, 'payment'>;

/** `changes` are written only if the event changes the state. One statement. */
export async function enterPayment(
  db: Database,
  id: string,
  event: PaymentEvent,
  changes: PaymentUpdate = {},
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
