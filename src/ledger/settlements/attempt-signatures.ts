import { sql } from 'kysely';
import { isPaidByDead, mayFollow } from '../../domain/settlement.ts';
import type { Trx } from '../database.ts';
import type { AttemptRow } from './attempt-row.ts';
import { type EventsByKind, enterStatus, type SettlementRow } from './settlement-row.ts';

/** The caller holds the settlement's lock, and the attempt was live under that lock. */
export async function storeSignatures(
  trx: Trx,
  eventsByKind: EventsByKind,
  settlement: SettlementRow,
  { n, state }: AttemptRow,
  signatures: readonly (string | null)[],
): Promise<{ readonly row: AttemptRow; readonly tookMs: number }> {
  const { id, status } = settlement;
  const isComplete = !signatures.includes(null);
  const { tookMs, ...row } = await trx
    .updateTable('attempt')
    .set({ signatures: sql`${signatures}::text[]`, ...(isComplete ? { state: 'signed' as const } : {}) })
    .where('settlementId', '=', id)
    .where('n', '=', n)
    .returningAll()
    // Measured by the clock of the database, which also set `created_at`.
    .returning(sql<number>`(extract(epoch from clock_timestamp() - created_at) * 1000)::float8`.as('tookMs'))
    .executeTakeFirstOrThrow();
  const entersSending = isComplete && state === 'prepared' && mayFollow(status, 'sending');
  if (entersSending && !isPaidByDead(settlement)) await enterStatus(trx, eventsByKind, id, 'sending');
  return { row, tookMs };
}
