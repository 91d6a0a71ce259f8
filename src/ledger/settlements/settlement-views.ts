import { sql } from 'kysely';
import { type SettlementCount, type SettlementStatus, UNFINISHED } from '../../domain/settlement.ts';
import { COUNT, type Database, Repository } from '../database.ts';
import {
  mapPage,
  negationOf,
  type Page,
  type PageRequest,
  positionBefore,
  readPage,
  zeroMinus,
} from '../page.ts';
import { noSettlement, type SettlementRow, toSettlementRow } from './settlement-row.ts';

/** `signature`: base58; null until an attempt is signed. */
export type SettlementViewRow = SettlementRow & { readonly signature: string | null };

export interface SettlementFilter extends PageRequest {
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  readonly status?: SettlementStatus | undefined;
  /** base58 signature of any attempt of the settlement. */
  readonly signature?: string | undefined;
}

export class SettlementViews extends Repository {
  /** Throws NotFound. */
  async get(id: string): Promise<SettlementViewRow> {
    const query = selectViews(this.db).where('settlement.id', '=', id);
    return toView(await query.executeTakeFirstOrThrow(() => noSettlement(id)));
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: SettlementFilter): Promise<Page<SettlementViewRow>> {
    const { kind, subject, status, signature } = filter;
    const position = sql.ref<bigint>('settlement.position');
    const before = positionBefore(filter);
    const orderKey = status === undefined ? negationOf : zeroMinus;
    let query = selectViews(this.db);
    query =
      kind === undefined
        ? query.where(position, '<', before).orderBy(position, 'desc')
        : query
            .where('settlement.kind', '=', kind)
            .where(orderKey('settlement.position'), '>', -before)
            .orderBy(orderKey('settlement.position'));
    if (subject !== undefined) query = query.where('settlement.subjectId', '=', subject);
    if (status !== undefined) query = query.where('settlement.status', '=', status);
    if (signature !== undefined)
      query = query.where('settlement.id', 'in', (from) =>
        from.selectFrom('attempt').select('settlementId').where('signature', '=', signature),
      );
    return mapPage(await readPage(query, filter), toView);
  }

  /** Number of unfinished settlements by kind and status. Pairs without settlements are omitted. */
  async countUnfinished(): Promise<readonly SettlementCount[]> {
    return this.db
      .selectFrom('settlement')
      .select(['kind', 'status'])
      .select(COUNT.as('count'))
      .where('status', 'in', UNFINISHED)
      .groupBy(['kind', 'status'])
      .execute();
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
