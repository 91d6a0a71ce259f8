import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** When an attempt ended, and the failed ones by wallet: each has cost its fee, and its settlement may continue. */
export const failures = inOrder([
  sql`alter table attempt add column ended_at timestamptz`,
  sql`create index attempt_failed on attempt ((signers[1]), slot) include (fee_lamports) where state = 'failed'`,
]);
