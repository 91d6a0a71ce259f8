import { sql, type Transaction } from 'kysely';
import type { StatusReason } from '../domain/withdrawal.ts';
import { gapOf } from './continuity.ts';
import type { Tables } from './database.ts';
import { lockPreparations, openPauses } from './pauses.ts';

/**
 * Why no attempt may be prepared for this withdrawal now; null where one may. Binds until the transaction ends: a pause waits for it.
 */
export async function stopOf(trx: Transaction<Tables>, withdrawalId: string): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  const suspicion = await suspicionOf(trx, withdrawalId);
  if (suspicion !== null) return suspicion;
  const [pause] = await openPauses(trx);
  if (pause !== undefined) return { code: 'paused', message: `paused: ${pause.reason} (by ${pause.who})` };
  return restorationOf(trx);
}

/**
 * Why this withdrawal may not be ended without a payment now: an attempt that the record does not know may have paid it, or be on its
 * way; null where none can be. Binds as {@link stopOf} does.
 */
export async function doubtOf(trx: Transaction<Tables>, withdrawalId: string): Promise<StatusReason | null> {
  await lockPreparations(trx, 'shared');
  const suspicion = await suspicionOf(trx, withdrawalId);
  if (suspicion !== null) return suspicion;
  const alert = await trx
    .selectFrom('alert')
    .select(['kind', 'message'])
    .where('kind', 'in', ['record_lost', 'unknown_spend'])
    .where('closedAt', 'is', null)
    .orderBy('kind')
    .executeTakeFirst();
  return alert === undefined ? restorationOf(trx) : { code: alert.kind, message: alert.message };
}

async function restorationOf(trx: Transaction<Tables>): Promise<StatusReason | null> {
  const gap = await gapOf(trx);
  return gap === null ? null : { code: 'record_restored', message: gap.why };
}

/**
 * What stops this one withdrawal although others go on. A second payment is never got over, and an attempt that only a workflow
 * remembers not before it is on record again, whatever becomes of the alert; that it may be paid already, people can judge by
 * closing the alert.
 */
async function suspicionOf(trx: Transaction<Tables>, withdrawalId: string): Promise<StatusReason | null> {
  const alert = await trx
    .selectFrom('alert')
    .select(['kind', 'message'])
    .where('subject', '=', withdrawalId)
    .where((row) =>
      row.or([
        row('kind', '=', 'dead_attempt_landed'),
        row.and([
          row('kind', '=', 'record_lost'),
          row(
            sql<string>`details ->> 'signature'`,
            'not in',
            row
              .selectFrom('attempt')
              .select('signature')
              .where('withdrawalId', '=', withdrawalId)
              .where('signature', 'is not', null),
          ),
        ]),
        row.and([row('kind', '=', 'maybe_paid'), row('closedAt', 'is', null)]),
      ]),
    )
    // The gravest first, which happens to be the order of their names.
    .orderBy('kind')
    .executeTakeFirst();
  return alert === undefined ? null : { code: alert.kind, message: alert.message };
}
