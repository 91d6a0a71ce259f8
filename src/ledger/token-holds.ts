import { type Selectable, sql, type Transaction } from 'kysely';
import { holdSubject, type TokenHold, tokenHold } from '../domain/token-holds.ts';
import { closeAlerts, raiseAlert } from './alerts.ts';
import type { Tables } from './database.ts';

type StoredWithdrawal = Selectable<Tables['withdrawal']>;

/** Keeps an alert about an issuer open while a withdrawal waits for what it names. `oldCode`: the reason code before `now`. */
export async function alertTokenHold(
  trx: Transaction<Tables>,
  oldCode: string | null,
  now: StoredWithdrawal,
): Promise<void> {
  const [before, after] = [tokenHold(oldCode), tokenHold(now.reasonCode)];
  if (before === after) return;
  // Two that go on at once must not each count the other as waiting. A statement of its own, so that the next one reads what it waited for.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/token-hold/${now.asset}`}, 0))`.execute(
    trx,
  );
  if (before !== null) await endHold(trx, before, now);
  if (after === null) return;
  const { id, asset, reasonMessage } = now;
  const subject = holdSubject(after, now);
  await raiseAlert(trx, {
    kind: after,
    subject,
    message: reasonMessage ?? after,
    details: { asset, withdrawal: id },
  });
}

/** Closes the alert, unless another withdrawal waits for the same. */
async function endHold(
  trx: Transaction<Tables>,
  kind: TokenHold,
  withdrawal: StoredWithdrawal,
): Promise<void> {
  const subject = holdSubject(kind, withdrawal);
  if (subject !== withdrawal.id && (await isAwaited(trx, kind, withdrawal.asset))) return;
  await closeAlerts(trx, (row) => row.and([row('kind', '=', kind), row('subject', '=', subject)]));
}

async function isAwaited(trx: Transaction<Tables>, kind: TokenHold, asset: string): Promise<boolean> {
  const waiting = await trx
    .selectFrom('withdrawal')
    .select('id')
    .where('status', '=', 'held')
    .where('reasonCode', '=', kind)
    .where('asset', '=', asset)
    .limit(1)
    .executeTakeFirst();
  return waiting !== undefined;
}
