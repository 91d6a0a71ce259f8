import { sql, type Transaction } from 'kysely';
import { holdSubject, type TokenHold, tokenHold } from '../../domain/token-holds.ts';
import type { Tables } from '../database.ts';
import { closeAlerts, raiseAlert } from '../operations/alerts.ts';
import type { SettlementRow } from './settlement-row.ts';

interface Held {
  readonly id: string;
  readonly asset: string;
}

/** Keeps an issuer's alert open while a withdrawal waits for its condition. `oldCode`: reason code before. */
export async function alertTokenHold(
  trx: Transaction<Tables>,
  { id, reason }: SettlementRow,
  oldCode: string | null,
): Promise<void> {
  const [before, after] = [tokenHold(oldCode), tokenHold(reason?.code ?? null)];
  if (before === after) return;
  const now = await trx
    .selectFrom('withdrawal')
    .select(['id', 'asset'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  // Withdrawals that continue at once must not count each other as waiting. A separate statement, so that the next
  // one reads the commits that it waited for.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/token-hold/${now.asset}`}, 0))`.execute(
    trx,
  );
  if (before !== null) await endHold(trx, before, now);
  if (after === null) return;
  const subject = holdSubject(after, now);
  const details = { asset: now.asset, withdrawal: id };
  await raiseAlert(trx, { kind: after, subject, message: reason?.message ?? after, details });
}

/** Closes the alert, unless another withdrawal waits for the same condition. */
async function endHold(trx: Transaction<Tables>, kind: TokenHold, withdrawal: Held): Promise<void> {
  const subject = holdSubject(kind, withdrawal);
  if (subject !== withdrawal.id && (await isAwaited(trx, kind, withdrawal.asset))) return;
  await closeAlerts(trx, (row) => row.and([row('kind', '=', kind), row('subject', '=', subject)]));
}

async function isAwaited(trx: Transaction<Tables>, kind: TokenHold, asset: string): Promise<boolean> {
  const waiting = await trx
    .selectFrom('withdrawal')
    .innerJoin('settlement', 'settlement.id', 'withdrawal.id')
    .select('withdrawal.id')
    .where('status', '=', 'held')
    .where('reasonCode', '=', kind)
    .where('asset', '=', asset)
    .limit(1)
    .executeTakeFirst();
  return waiting !== undefined;
}
