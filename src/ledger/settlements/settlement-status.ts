import { sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import {
  PAID_BY_DEAD,
  type SettlementStatus,
  type StatusReason,
  statesBefore,
} from '../../domain/settlement.ts';
import type { Tables } from '../database.ts';
import type { Kinds } from '../webhooks/subject-events.ts';
import { type SettlementRow, toSettlementRow } from './settlement-row.ts';
import { alertTakenBack } from './taken-back.ts';

/**
 * Compare-and-set under the settlement's lock. Calls `changed` of the kind if the status or the reason code differs.
 * Throws IllegalTransition if the state machine forbids `to`. A settlement that a dead attempt has paid can only be
 * cancelled, unless that payment `isDisproved`.
 */
export async function enterStatus(
  trx: Transaction<Tables>,
  kinds: Kinds,
  id: string,
  to: SettlementStatus,
  reason: StatusReason | null = null,
  { isDisproved = false } = {},
): Promise<SettlementRow> {
  const entered = await trx
    .updateTable('settlement')
    .from((row) =>
      row
        .selectFrom('settlement as old')
        .select(['old.status as oldStatus', 'old.reasonCode as oldCode'])
        .where('old.id', '=', id)
        .as('before'),
    )
    .set({
      status: to,
      reasonCode: reason?.code ?? null,
      reasonMessage: reason?.message ?? null,
      ...(to === 'confirmed' ? { wasConfirmed: true } : {}),
      updatedAt: sql<Date>`now()`,
    })
    .where('settlement.id', '=', id)
    .where('settlement.status', 'in', statesBefore(to))
    .$if(to !== 'cancelled' && !isDisproved, (query) =>
      query.where('settlement.reasonCode', 'is distinct from', PAID_BY_DEAD),
    )
    .returningAll('settlement')
    .returning(['before.oldStatus', 'before.oldCode'])
    .executeTakeFirst();
  if (entered === undefined) {
    const message = `settlement ${id} may not become ${to} from where it is`;
    throw new DomainError('IllegalTransition', message, { id, to });
  }
  const { oldStatus, oldCode, ...stored } = entered;
  const row = toSettlementRow(stored);
  const events = kinds[row.kind];
  const before = { status: oldStatus, code: oldCode };
  if (oldStatus === row.status && oldCode === stored.reasonCode) return row;
  if (events?.answersAt === 'confirmed') await alertTakenBack(trx, row);
  await events?.changed?.(trx, row, before);
  return row;
}
