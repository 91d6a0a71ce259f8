import { type ExpressionBuilder, sql, type UpdateObject } from 'kysely';
import type { AuditReport } from '../../domain/audit.ts';
import { GAP_UNREAD, type RescanResult, type StoredOrder } from '../../domain/backfill.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { rangeOf, type Slots } from '../../domain/scan.ts';
import { Repository, type RowOf, type Tables, type Trx } from '../database.ts';
import { raiseMissed } from '../deposits/missed.ts';
import { DATABASE_ID, isSameDatabase } from '../operations/restore-detection.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { nextRetryAt } from '../retry-after.ts';
import type { FoundBlock } from './findings.ts';
import type { GapRow } from './gaps.ts';
import { upsertBlocks } from './scan.ts';
import { assertReached, lockCursor } from './scan-cursor.ts';
import { type MatchedBlocks, type StaleWatchSet, staleWatchSet } from './watched.ts';

export type BackfillRow = RowOf<'backfill'>;

/** A try of a backfill, and the id of the database in which it began. */
export type BackfillTry = Pick<BackfillRow, 'position'> & { readonly databaseId: string };

/** Closed gaps in which a quorum of nodes returned each block are `read`; `blocks` counts blocks of all closed gaps. */
export interface GapsRead extends Omit<RescanResult, 'found'> {
  readonly read: readonly Pick<GapRow, 'fromSlot' | 'toSlot'>[];
}

/** The number of blocks read since the last progress; all blocks up to `readTo` are read. */
export type BackfillProgress = Pick<RescanResult, 'blocks'> & { readonly readTo: bigint };

/** The `backfill` of a closed gap is open until a quorum of nodes has returned its blocks, or its headers are pruned. */
const IS_GAP_DUE = sql<boolean>`exists (select from scan_gap gap
  where gap.from_slot = backfill.from_slot and gap.to_slot = backfill.to_slot and backfill.address is null
    and gap.state = 'closed'
    and gap.read_at is null and gap.from_slot > coalesce((select pruned_to from scan_cursor), -1))`;

const UNLESS_GAP_DUE = {
  endedAt: sql<Date | null>`case when ${IS_GAP_DUE} then null else now() end`,
  retryAfter: nextRetryAt(sql`begun_at`),
};

/** What to read: all wallets by the blocks of these slots, or one `address` by its history. */
export interface BackfillSubject extends Slots {
  readonly address?: string | null;
  /** False: an audit that records nothing. Default: true. */
  readonly repair?: boolean;
}

/**
 * Headers are kept until a backfill has ended. A try changes only an open backfill in the database with the id
 * `databaseId`. After a restore another backfill may have its number, or its findings may be lost.
 */
export class Backfills extends Repository {
  /**
   * From here on no header of the slots is pruned. Continues an open backfill of this subject; a run that has read all
   * receives the ended one. Throws SlotsNotRecorded if a slot is above the cursor, or below the first header (an address
   * is audited without headers).
   */
  async begin(
    { from, to, address = null, repair = true, actor, reason }: BackfillSubject & OperatorNote,
    run: string | null = null,
  ): Promise<BackfillRow & BackfillTry> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const read = await readBy(trx, run, { from, to, address, repair });
      if (read !== undefined) return read;
      assertReached(cursor, to);
      if (address === null) await assertStored(trx, from);
      return trx
        .insertInto('backfill')
        .values({ fromSlot: from, toSlot: to, address, repair, actor, reason, run })
        .onConflict((conflict) =>
          conflict
            .expression(sql`coalesce(address, ''), from_slot, to_slot, repair`)
            .where('endedAt', 'is', null)
            .doUpdateSet({ run: sql`coalesce(excluded.run, backfill.run)` }),
        )
        .returningAll()
        .returning(DATABASE_ID.as('databaseId'))
        .executeTakeFirstOrThrow();
    });
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(request: PageRequest): Promise<Page<BackfillRow>> {
    const all = this.db.selectFrom('backfill').selectAll().orderBy('position', 'desc');
    return readPage(all.where('position', '<', positionBefore(request)), request);
  }

  /** @throws DomainError NotFound */
  async get(position: bigint): Promise<BackfillRow> {
    const query = this.db.selectFrom('backfill').selectAll().where('position', '=', position);
    return query.executeTakeFirstOrThrow(
      () => new DomainError('NotFound', `there is no backfill ${position}`, { id: position.toString() }),
    );
  }

  /** Open backfills that a run should continue now, oldest first. */
  async due(limit: number): Promise<readonly BackfillRow[]> {
    return this.#open(limit).where(sql<boolean>`coalesce(retry_after <= now(), true)`).execute();
  }

  /** Backfills that have not ended, oldest first. */
  async open(limit: number): Promise<readonly BackfillRow[]> {
    return this.#open(limit).execute();
  }

  #open(limit: number) {
    return this.db
      .selectFrom('backfill')
      .selectAll()
      .where('endedAt', 'is', null)
      .orderBy('position')
      .limit(limit);
  }

  /**
   * Stores what the database lacks, with an alert for each arrival that the scan missed, and the progress.
   * Throws as `Scan.upsert` does, and Unavailable if this try is over.
   */
  async record(
    of: BackfillTry,
    { blocks, watchVersion }: MatchedBlocks<FoundBlock>,
    progress?: BackfillProgress,
  ): Promise<'committed' | StaleWatchSet> {
    return this.#change(of, async (trx, change) => {
      const stale = await staleWatchSet(trx, watchVersion);
      if (stale !== null) return stale;
      const added = await upsertBlocks(trx, blocks);
      await raiseMissed(trx, added);
      await change((row) => ({
        found: row('found', '+', added.length),
        blocks: row('blocks', '+', progress?.blocks ?? 0),
        trouble: null,
        ...(progress === undefined ? {} : { readTo: progress.readTo }),
      }));
      return 'committed';
    });
  }

  /** Stores the error of this try; another one follows. Throws Unavailable if this try is over. */
  async recordError(of: BackfillTry, trouble: string): Promise<void> {
    await this.#change(of, (_trx, change) => change(() => ({ trouble })));
  }

  /**
   * All blocks with stored headers are read. The backfill of a gap that is not `read` stays open, and is retried in
   * growing intervals. Throws Unavailable if this try is over.
   */
  async end(of: BackfillTry, { blocks, unread, read }: GapsRead): Promise<BackfillRow> {
    return this.#change(of, async (trx, change) => {
      for (const { fromSlot, toSlot } of read)
        await trx
          .updateTable('scanGap')
          .set({ readAt: sql<Date>`coalesce(read_at, now())` })
          .where('fromSlot', '=', fromSlot)
          .where('toSlot', '=', toSlot)
          .execute();
      return change(() => ({
        blocks: sql<number>`blocks + case when ${IS_GAP_DUE} then 0 else ${blocks}::integer end`,
        unread: JSON.stringify(unread),
        trouble: sql<string | null>`case when ${IS_GAP_DUE} then ${GAP_UNREAD} end`,
        ...UNLESS_GAP_DUE,
      }));
    });
  }

  /** The audit of an address has ended, with this result. Throws Unavailable if this try is over. */
  async endAudit(of: BackfillTry, report: AuditReport): Promise<BackfillRow> {
    return this.#change(of, (_trx, change) =>
      change(() => ({
        found: report.found,
        report: JSON.stringify(report),
        trouble: null,
        endedAt: sql<Date>`now()`,
      })),
    );
  }

  /**
   * No run continues this backfill: its row keeps the error of its latest try, or else `reason`. It ends, unless it is
   * that of a gap.
   */
  async giveUp(subject: BackfillSubject, reason: string): Promise<void> {
    await this.db
      .updateTable('backfill')
      .set({ ...UNLESS_GAP_DUE, trouble: sql<string>`coalesce(trouble, ${reason})` })
      .where('endedAt', 'is', null)
      .where(isOf(subject))
      .execute();
  }

  /** The backfill's row is changed last: a transaction that holds the cursor may wait for it. */
  async #change<T>(
    { position, databaseId }: BackfillTry,
    work: (trx: Trx, change: (values: BackfillUpdate) => Promise<BackfillRow>) => Promise<T>,
  ): Promise<T> {
    return this.db.transaction().execute(async (trx) => {
      if (!(await isSameDatabase(trx, databaseId)))
        throw tryEnded('the database may have been restored from a backup since');
      return work(trx, async (values) => {
        const open = trx
          .updateTable('backfill')
          .where('position', '=', position)
          .where('endedAt', 'is', null);
        const changed = open.set(values).returningAll();
        return changed.executeTakeFirstOrThrow(() => tryEnded('its backfill has ended'));
      });
    });
  }
}

function isOf({ from, to, address = null, repair = true }: BackfillSubject) {
  return sql<boolean>`(from_slot = ${from} and to_slot = ${to} and repair = ${repair}
    and address is not distinct from ${address})`;
}

/** The order of a stored backfill. */
export function orderOf({ fromSlot, toSlot, address, repair, actor, reason }: BackfillRow): StoredOrder {
  const order = { ...rangeOf({ from: fromSlot, to: toSlot }), actor, reason };
  return address === null ? order : { ...order, address, repair };
}

type BackfillUpdate = (row: ExpressionBuilder<Tables, 'backfill'>) => UpdateObject<Tables, 'backfill'>;

function tryEnded(reason: string): DomainError {
  return new DomainError('Unavailable', `this try of the backfill has ended: ${reason}`);
}

/** Slots right above the pruned ones may have no header. Blocks before the very first were never scanned. */
async function assertStored(trx: Trx, from: bigint): Promise<void> {
  const { prunedTo, first } = await trx
    .selectFrom('scanCursor')
    .select([
      'prunedTo',
      (row) => row.selectFrom('block').select('slot').orderBy('slot').limit(1).as('first'),
    ])
    .executeTakeFirstOrThrow();
  if (prunedTo === null ? first === null || from >= first : from > prunedTo) return;
  const reason =
    prunedTo === null
      ? 'the stored headers begin'
      : `the headers up to slot ${prunedTo} are deleted; the stored headers begin`;
  throw new DomainError('SlotsNotRecorded', `from: ${reason} with slot ${first}`, { field: 'from' });
}

/** The newest backfill of this subject, if this run has read all of it. */
async function readBy(
  trx: Trx,
  run: string | null,
  subject: BackfillSubject,
): Promise<(BackfillRow & BackfillTry) | undefined> {
  if (run === null) return undefined;
  const newest = await trx
    .selectFrom('backfill')
    .selectAll()
    .select(DATABASE_ID.as('databaseId'))
    .where(isOf(subject))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.run === run && newest.endedAt !== null && newest.trouble === null ? newest : undefined;
}
