import { sql } from 'kysely';
import type { AlertKind } from '../../domain/alerts.ts';
import { KEEPS_FAILING } from '../../domain/chain-failures.ts';
import { ALL_SETTLEMENTS, PAID_BY_DEAD, type StatusReason, scopesOf } from '../../domain/settlement.ts';
import { exists, type Trx } from '../database.ts';
import { PAUSED_SCOPE, WAS_JUDGED } from '../operations/alerts.ts';
import { gapOf, UNBROKEN } from '../operations/continuity.ts';
import { lockPreparations, openPauses } from '../operations/pauses.ts';
import type { NewAttempt } from './attempts.ts';

/** Why this attempt may not be prepared now, or null. Valid until the transaction ends: a pause waits for it. */
export async function stopOf(trx: Trx, kind: string, attempt: NewAttempt): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  if (await isQuiet(trx, attempt.settlementId)) return null;
  const suspicion = await suspicionOf(trx, attempt.settlementId, ['maybe_paid', KEEPS_FAILING]);
  if (suspicion !== null) return suspicion;
  const scopes: readonly string[] = scopesOf(kind, attempt.signers);
  const pause = (await openPauses(trx)).find(({ scope }) => scopes.includes(scope));
  if (pause !== undefined) return { code: 'paused', message: `paused: ${pause.reason} (by ${pause.actor})` };
  return (await endsTheGap(trx, attempt)) ? null : restorationOf(trx);
}

/**
 * Why this settlement may not end unpaid: an attempt that is missing from the database may have paid it or may land.
 * Null if there can be none. Valid as long as {@link stopOf}.
 */
export async function possiblePaymentOf(trx: Trx, settlementId: string): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  const suspicion = await suspicionOf(trx, settlementId, ['maybe_paid']);
  if (suspicion !== null) return suspicion;
  const alert = await trx
    .selectFrom('alert')
    .select(['kind', 'message'])
    .where('kind', 'in', ['record_lost', 'unknown_spend'])
    // A transaction signed by another key than a hot wallet's pays no settlement of ours but its own.
    .where(PAUSED_SCOPE, '=', ALL_SETTLEMENTS)
    .where('closedAt', 'is', null)
    .orderBy('kind')
    .executeTakeFirst();
  return alert === undefined ? restorationOf(trx) : { code: alert.kind, message: alert.message };
}

/** True without any pause, gap or alert about this settlement: the usual case, checked by one statement. */
async function isQuiet(trx: Trx, settlementId: string): Promise<boolean> {
  const { rows } = await sql<{ readonly quiet: boolean }>`select
    not exists (select from alert where subject = ${settlementId})
    and not exists (select from pause where ended_at is null)
    and coalesce((select ${UNBROKEN} from continuity), true) as quiet`.execute(trx);
  return rows[0]?.quiet === true;
}

/** True for the advance of a nonce that a lost attempt may carry: the gap cannot end before it. */
async function endsTheGap(trx: Trx, { bareAdvance, nonceAccount, blockhash }: NewAttempt): Promise<boolean> {
  if (!bareAdvance || nonceAccount === null) return false;
  return exists(
    trx
      .selectFrom('lostNonce')
      .select('address')
      .where('address', '=', nonceAccount)
      .where('nonce', '=', blockhash),
  );
}

async function restorationOf(trx: Trx): Promise<StatusReason | null> {
  const gap = await gapOf(trx);
  return gap === null ? null : { code: 'record_restored', message: gap.reason };
}

const GRAVEST_FIRST: readonly AlertKind[] = [PAID_BY_DEAD, 'maybe_paid', 'record_lost', KEEPS_FAILING];

/**
 * What stops this settlement while others continue. A landed dead attempt does until an operator judges the alert as
 * false; a resume that closes it is no such judgement. An attempt that only a workflow remembers does until the
 * database has it again, even if the alert is closed. An alert of `whileOpen` does until it is closed.
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
          row('kind', '=', 'record_lost'),
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
    .orderBy(sql`array_position(${GRAVEST_FIRST}::text[], kind)`)
    .executeTakeFirst();
  return alert === undefined ? null : { code: alert.kind, message: alert.message };
}
