import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import {
  PAID_ALREADY,
  PAID_BY_DEAD,
  type SettlementStatus,
  type StatusReason,
  statesBefore,
} from '../../domain/settlement.ts';
import { settlementId } from '../../domain/settlement-kinds.ts';
import type { Database, RowOf, Trx } from '../database.ts';
import { closeAlert, raiseAlert } from '../operations/alerts.ts';
import type { AttemptOutcome, AttemptRow } from './attempt-row.ts';
import type { KindGroups } from './together.ts';

type StoredSettlement = RowOf<'settlement'>;

/**
 * One obligation that must reach the chain at most once. `subjectId` is unique within the kind. `wasConfirmed`: a
 * node reported its transaction in a confirmed block, so callers may have been answered. A fork can have reverted
 * that block.
 */
export type SettlementRow = Readonly<Omit<StoredSettlement, 'position' | 'reasonCode' | 'reasonMessage'>> & {
  readonly reason: StatusReason | null;
};

export function toSettlementRow(stored: StoredSettlement): SettlementRow {
  const { position: _position, reasonCode: code, reasonMessage: message, ...rest } = stored;
  return { ...rest, reason: code === null || message === null ? null : { code, message } };
}

/**
 * Locks the settlement. Every transaction that changes a settlement, its subject, its attempts or its reservations
 * takes this lock first, in a separate statement. Its later reads then include the commits that the lock waited for.
 */
export async function lockSettlement(trx: Trx, id: string): Promise<SettlementRow> {
  const row = await lockIfKnown(trx, id);
  if (row === undefined) throw noSettlement(id);
  return row;
}

/** As {@link lockSettlement}, but returns undefined if there is no such settlement. */
export async function lockIfKnown(trx: Trx, id: string): Promise<SettlementRow | undefined> {
  const stored = await trx
    .selectFrom('settlement')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return stored === undefined ? undefined : toSettlementRow(stored);
}

/**
 * Inserts settlements. A dropped one is requested again, because none of its attempts can land. A settlement that an
 * operator ended as paid stays ended.
 */
export async function requestSettlements(
  db: Database,
  kind: string,
  subjectIds: readonly string[],
): Promise<void> {
  if (subjectIds.length === 0) return;
  const rows = subjectIds.map((subjectId) => ({
    id: settlementId(kind, subjectId),
    kind,
    subjectId,
    status: 'requested' as const,
  }));
  await db
    .insertInto('settlement')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ status: 'requested', reasonCode: null, reasonMessage: null })
        .where('settlement.status', '=', 'cancelled')
        .where('settlement.reasonCode', 'is distinct from', PAID_ALREADY),
    )
    .execute();
}

export function noSettlement(id: string): DomainError {
  return new DomainError('NotFound', `there is no settlement ${id}`, { settlementId: id });
}

export interface StatusBefore {
  readonly status: SettlementStatus;
  readonly code: string | null;
}

/** Callbacks of a kind that run in the transaction that changes its settlement, under the settlement's lock. */
export interface KindEvents {
  /**
   * `confirmed`: callers are answered as soon as a node reports the settlement as confirmed, and an alert is raised
   * if a fork reverts it. Default: callers wait for `finalized`.
   */
  readonly answersAt?: 'confirmed';
  /** False if the settlement may never be cancelled, because its money has moved already. Default: true. */
  mayCancel?(trx: Trx, settlement: SettlementRow): Promise<boolean>;
  /** The status or the reason code has changed. From `confirmed` to `sending`: a fork has reverted the transaction. */
  changed?(trx: Trx, settlement: SettlementRow, before: StatusBefore): Promise<void>;
  /** An attempt has landed, failed or been proved dead. Runs before the settlement is moved. */
  ended?(trx: Trx, settlement: SettlementRow, attempt: AttemptRow, outcome: AttemptOutcome): Promise<void>;
  /** Makes the usual changes of many settlements at once, with the effects of `changed` and `ended`. */
  readonly groups?: KindGroups;
}

/** Callbacks by kind. A kind without an entry has none. */
export type EventsByKind = Readonly<Partial<Record<string, KindEvents>>>;

/**
 * Changes the status by compare-and-set under the settlement's lock. Calls the kind's `changed` if the status or the
 * reason code differs. Throws IllegalTransition if the state machine forbids `to`. A settlement that a dead attempt
 * has paid can only be cancelled, unless that payment `isDisproved`.
 */
export async function enterStatus(
  trx: Trx,
  eventsByKind: EventsByKind,
  id: string,
  to: SettlementStatus,
  reason: StatusReason | null = null,
  { isDisproved = false } = {},
): Promise<SettlementRow> {
  const { oldStatus, oldCode, ...stored } = await trx
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
    .executeTakeFirstOrThrow(() => {
      const message = `settlement ${id} cannot change to ${to} from its current status`;
      return new DomainError('IllegalTransition', message, { id, to });
    });
  const row = toSettlementRow(stored);
  if (oldStatus === row.status && oldCode === stored.reasonCode) return row;
  const events = eventsByKind[row.kind];
  if (events?.answersAt === 'confirmed') await alertReverted(trx, row);
  await events?.changed?.(trx, row, { status: oldStatus, code: oldCode });
  return row;
}

export const CONFIRMATION_REVERTED = 'confirmed_taken_back';
/** For the alert: what happens to a settlement after a fork reverted it, by status. */
const STATE_AFTER_REVERT: Readonly<Partial<Record<SettlementStatus, string>>> = {
  sending: 'its transaction is sent again',
  failed: 'the transaction failed on another fork',
  dead: 'the transaction can no longer land',
};

/** Raises the alert if callers were answered at `confirmed` and a fork reverted that; `finalized` closes it. */
async function alertReverted(trx: Trx, { id: subject, status, wasConfirmed }: SettlementRow): Promise<void> {
  if (status === 'finalized') await closeAlert(trx, CONFIRMATION_REVERTED, subject);
  const stateNow = STATE_AFTER_REVERT[status];
  if (!wasConfirmed || stateNow === undefined) return;
  const closedRoute = status === 'sending' ? '' : ', which closes its route until this alert is acknowledged';
  const message = `a fork reverted settlement ${subject} after it was confirmed, and its purchase may have been served${closedRoute}; ${stateNow}`;
  await raiseAlert(trx, { kind: CONFIRMATION_REVERTED, subject, message });
}
