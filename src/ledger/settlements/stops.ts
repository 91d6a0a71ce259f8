import { sql } from 'kysely';
import type { AlertKind } from '../../domain/alerts.ts';
import { KEEPS_FAILING } from '../../domain/chain-failures.ts';
import { ALL_SETTLEMENTS, PAID_BY_DEAD, type StatusReason, scopesOf } from '../../domain/settlement.ts';
import { exists, type Trx } from '../database.ts';
import { PAUSED_SCOPE, WAS_JUDGED } from '../operations/alerts.ts';
import { gapOf, IS_UNBROKEN } from '../operations/continuity.ts';
import { lockPreparations, openPauses } from '../operations/pauses.ts';
import type { NewAttempt } from './attempts.ts';

/**
 * Why this attempt must not be prepared now, or null. The answer stays valid until the transaction ends, because a
 * new pause waits for the lock that this takes.
 */
export async function stopOf(trx: Trx, kind: string, attempt: NewAttempt): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  if (await hasNoStop(trx, attempt.settlementId)) return null;
  const suspicion = await suspicionOf(trx, attempt.settlementId, ['maybe_paid', KEEPS_FAILING]);
  if (suspicion !== null) return suspicion;
  const scopes: readonly string[] = scopesOf(kind, attempt.signers);
  const pause = (await openPauses(trx)).find(({ scope }) => scopes.includes(scope));
  if (pause !== undefined) return { code: 'paused', message: `paused: ${pause.reason} (by ${pause.actor})` };
  return (await advancesLostNonce(trx, attempt)) ? null : restoreStop(trx);
}

/**
 * Why this settlement must not end unpaid: an attempt that is missing from the database may have paid it, or can
 * still land. Null if there is no such attempt. Valid as long as the answer of {@link stopOf}.
 */
export async function possiblePaymentOf(trx: Trx, settlementId: string): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  const suspicion = await suspicionOf(trx, settlementId, ['maybe_paid']);
  if (suspicion !== null) return suspicion;
  const alert = await trx
    .selectFrom('alert')
    .select(['kind', 'message'])
    .where('kind', 'in', ['attempt_lost', 'unknown_spend'])
    // A fee payer's transaction pays only its own settlement, so alerts that stop only a fee payer do not count.
    .where(PAUSED_SCOPE, '=', ALL_SETTLEMENTS)
    .where('closedAt', 'is', null)
    .orderBy('kind')
    .executeTakeFirst();
  return alert === undefined ? restoreStop(trx) : { code: alert.kind, message: alert.message };
}

/**
 * True if there is no pause, no restore gap and no alert about this settlement. One statement checks this usual case.
 */
async function hasNoStop(trx: Trx, settlementId: string): Promise<boolean> {
  const { rows } = await sql<{ readonly quiet: boolean }>`select
    not exists (select from alert where subject = ${settlementId})
    and not exists (select from pause where ended_at is null)
    and coalesce((select ${IS_UNBROKEN} from continuity), true) as quiet`.execute(trx);
  return rows[0]?.quiet === true;
}

/** True for an advance of a nonce that a lost attempt can use: the restore gap cannot end before that advance. */
async function advancesLostNonce(
  trx: Trx,
  { bareAdvance, nonceAccount, blockhash }: NewAttempt,
): Promise<boolean> {
  if (!bareAdvance || nonceAccount === null) return false;
  return exists(
    trx
      .selectFrom('lostNonce')
      .select('address')
      .where('address', '=', nonceAccount)
      .where('nonce', '=', blockhash),
  );
}

async function restoreStop(trx: Trx): Promise<StatusReason | null> {
  const gap = await gapOf(trx);
  return gap === null ? null : { code: 'database_restored', message: gap.reason };
}

const ALERTS_BY_SEVERITY: readonly AlertKind[] = [PAID_BY_DEAD, 'maybe_paid', 'attempt_lost', KEEPS_FAILING];

/**
 * Alert that stops this settlement while others continue:
 * - a dead attempt landed, until an operator judges the alert as false; a resume that closes the alert is not enough;
 * - an attempt is known only to its workflow, until the database has the attempt again, even if the alert is closed;
 * - any kind in `whileOpen`, until the alert is closed.
 */
async function suspicionOf(
  trx: Trx,
  settlementId: string,
  whileOpen: readonly AlertKind[],
): Promise<StatusReason | null> {
  const alert = await trx
    .selectFrom('alert')
    .select(['kind', 'message'])
    .where('subject', '=', settlementId)
    .where((row) =>
      row.or([
        row.and([row('kind', '=', PAID_BY_DEAD), row.not(sql<boolean>`(${WAS_JUDGED})`)]),
        row.and([
          row('kind', '=', 'attempt_lost'),
          row(
            sql<string>`details ->> 'signature'`,
            'not in',
            row
              .selectFrom('attempt')
              .select('signature')
              .where('settlementId', '=', settlementId)
              .where('signature', 'is not', null),
          ),
        ]),
        row.and([row('kind', 'in', whileOpen), row('closedAt', 'is', null)]),
      ]),
    )
    .orderBy(sql`array_position(${ALERTS_BY_SEVERITY}::text[], kind)`)
    .executeTakeFirst();
  return alert === undefined ? null : { code: alert.kind, message: alert.message };
}
