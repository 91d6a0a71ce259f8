import { sql } from 'kysely';
import { type SettlementCount, type SettlementStatus, UNFINISHED } from '../../domain/settlement.ts';
import type { Database } from '../database.ts';
import { negated, negative, type Page, type PageRequest, pageOf, positionBefore } from '../page.ts';
import { noSettlement, type SettlementRow, toSettlementRow } from './settlement-row.ts';

export interface SettlementViewRow extends SettlementRow {
  /** base58; null until an attempt is signed. */
  readonly signature: string | null;
}

export interface SettlementFilter extends PageRequest {
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  readonly status?: SettlementStatus | undefined;
  /** base58 signature of any attempt of the settlement. */
  readonly signature?: string | undefined;
}

export class SettlementViews {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Throws NotFound. */
  async get(id: string): Promise<SettlementViewRow> {
    const stored = await selectViews(this.#db).where('settlement.id', '=', id).executeTakeFirst();
    if (stored === undefined) throw noSettlement(id);
    return toView(stored);
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: SettlementFilter): Promise<Page<SettlementViewRow>> {
    const { kind, subject, status, signature, limit } = filter;
    const position = sql.ref<bigint>('settlement.position');
    const before = positionBefore(filter);
    const ofKind = status === undefined ? negative : negated;
    let query = selectViews(this.#db);
    query =
      kind === undefined
        ? query.where(position, '<', before).orderBy(position, 'desc')
        : query
            .where('settlement.kind', '=', kind)
            .where(ofKind('settlement.position'), '>', -before)
            .orderBy(ofKind('settlement.position'));
    if (subject !== undefined) query = query.where('settlement.subjectId', '=', subject);
    if (status !== undefined) query = query.where('settlement.status', '=', status);
    if (signature !== undefined)
      query = query.where('settlement.id', 'in', (from) =>
        from.selectFrom('attempt').select('settlementId').where('signature', '=', signature),
      );
    const { rows, nextCursor } = pageOf(await query.limit(limit + 1).execute(), filter);
    return { rows: rows.map(toView), nextCursor };
  }

  /** The number of unfinished settlements by kind and status. Pairs without settlements are left out. */
  async countUnfinished(): Promise<readonly SettlementCount[]> {
    const rows = await this.#db
      .selectFrom('settlement')
      .select(['kind', 'status'])
      .select((row) => row.fn.countAll<bigint>().as('count'))
      .where('status', 'in', UNFINISHED)
      .groupBy(['kind', 'status'])
      .execute();
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  }
}

function selectViews(db: Database) {
  return db
    .selectFrom('settlement')
    .selectAll('settlement')
    .select((row) =>
      row
        .selectFrom('attempt')
        .select('attempt.signature')
        .whereRef('attempt.settlementId', '=', 'settlement.id')
        .where('attempt.signature', 'is not', null)
        .orderBy('attempt.n', 'desc')
        .limit(1)
        .as('signature'),
    );
}

type StoredView = Awaited<ReturnType<ReturnType<typeof selectViews>['executeTakeFirstOrThrow']>>;

function toView({ signature, ...stored }: StoredView): SettlementViewRow {
  return { ...toSettlementRow(stored), signature };
}
