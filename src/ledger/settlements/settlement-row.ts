import type { Selectable, Transaction } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import {
  PAID_ALREADY,
  type SettlementStatus,
  type StatusReason,
  settlementId,
} from '../../domain/settlement.ts';
import type { Database, Tables } from '../database.ts';

/** One obligation that must reach the chain at most once. */
export interface SettlementRow {
  readonly id: string;
  readonly kind: string;
  /** Unique within the kind. */
  readonly subjectId: string;
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** A node has shown it in a confirmed block, so callers may have been answered. A fork may have reverted that. */
  readonly wasConfirmed: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export function toSettlementRow(stored: Selectable<Tables['settlement']>): SettlementRow {
  const { position: _position, reasonCode, reasonMessage, ...rest } = stored;
  return { ...rest, reason: reasonOf({ reasonCode, reasonMessage }) };
}

function reasonOf({
  reasonCode: code,
  reasonMessage: message,
}: Pick<Selectable<Tables['settlement']>, 'reasonCode' | 'reasonMessage'>): StatusReason | null {
  return code === null || message === null ? null : { code, message };
}

/**
 * Locks the settlement. Everything that changes a settlement, its subject, its attempts or its reservations takes
 * this lock first, in a separate statement: later reads then include the commits that it waited for.
 */
export async function lockSettlement(trx: Transaction<Tables>, id: string): Promise<SettlementRow> {
  const row = await lockIfKnown(trx, id);
  if (row === undefined) throw noSettlement(id);
  return row;
}

/** {@link lockSettlement}; undefined if there is no such settlement. */
export async function lockIfKnown(trx: Transaction<Tables>, id: string): Promise<SettlementRow | undefined> {
  const stored = await trx
    .selectFrom('settlement')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return stored === undefined ? undefined : toSettlementRow(stored);
}

/**
 * Requests a dropped settlement again: none of its attempts can land any more. One that an operator ended as paid
 * stays ended.
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
