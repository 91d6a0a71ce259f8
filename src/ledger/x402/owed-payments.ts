import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { PaymentRow } from './payment-row.ts';

/** The columns of an owed payment that decide whether it can be served. */
export type OwedPayment = Pick<
  PaymentRow,
  'id' | 'position' | 'seller' | 'state' | 'caller' | 'leaseUntil' | 'askedAt' | 'isAnswered'
>;

export type OwedBuyer = Pick<PaymentRow, 'payer' | 'requestHash'>;

/** More than a wallet has in flight for one request. */
const MAX_OWED = 50;

/** Up to 50 owed payments of each payer for its request, oldest first. */
export async function readOwed(
  db: Database,
  buyers: readonly OwedBuyer[],
): Promise<(buyer: OwedBuyer) => readonly OwedPayment[]> {
  const { rows } = await sql<OwedBuyer & OwedPayment>`
    select asked.payer, asked.request_hash, owed.*
    from (select distinct payer, request_hash from unnest(
      ${buyers.map(({ payer }) => payer)}::text[], ${buyers.map(({ requestHash }) => requestHash)}::text[]
    ) as buyer (payer, request_hash)) as asked
    cross join lateral (
      select id, position, seller, state, caller, lease_until, asked_at, answer is not null as is_answered
      from payment
      where state = 'owed' and payer = asked.payer and request_hash = asked.request_hash
      order by position
      limit ${MAX_OWED}
    ) as owed
    order by owed.position`.execute(db);
  return ({ payer, requestHash }) =>
    rows.filter((row) => row.payer === payer && row.requestHash === requestHash);
}
