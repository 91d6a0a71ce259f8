import { type ExpressionBuilder, type Selectable, sql, type Transaction, type UpdateObject } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { GAP_UNREAD, type RescanResult } from '../../domain/rescan.ts';
import type { Slots } from '../../domain/slots.ts';
import type { Database, Tables } from '../database.ts';
import type { RescanTable } from '../deposits/deposit-tables.ts';
import { raiseMissed } from '../deposits/missed.ts';
import { isRecord, RECORD } from '../operations/restore-detection.ts';
import { type Page, type PageRequest, pageOf, positionBefore } from '../page.ts';
import { nextLook } from '../retry-after.ts';
import type { FoundBlock } from './findings.ts';
import type { GapRow } from './gaps.ts';
import { upsertBlocks } from './scan.ts';
import { assertReached, lockCursor } from './scan-cursor.ts';
import { type Matched, type StaleWatchSet, staleWatchSet } from './watched.ts';

export type RescanRow = Readonly<Selectable<RescanTable>>;

/** A try to read a rescan, and the name of the database in which it began. */
export type RescanTry = Pick<RescanRow, 'position'> & { readonly record: string };

/** Closed gaps in which a quorum of nodes returned each block are `read`; `blocks` counts blocks of all closed gaps. */
export interface GapsRead extends Omit<RescanResult, 'found'> {
  readonly read: readonly Pick<GapRow, 'fromSlot' | 'toSlot'>[];
}

/** The number of blocks read since the last progress; all blocks up to `readTo` are read. */
export type RescanProgress = Pick<RescanResult, 'blocks'> & { readonly readTo: bigint };

/** A `rescan` of a closed gap is open until a quorum of nodes has returned its blocks, or its headers are pruned. */
const IS_GAP_DUE = sql<boolean>`exists (select from scan_gap gap
  where gap.from_slot = rescan.from_slot and gap.to_slot = rescan.to_slot and gap.state = 'closed'
    and gap.read_at is null and gap.from_slot > coalesce((select pruned_to from scan_cursor), -1))`;

const UNLESS_GAP_DUE = {
  endedAt: sql<Date | null>`case when ${IS_GAP_DUE} then null else now() end`,
  retryAfter: nextLook(sql`begun_at`),
};

/**
 * Headers of a rescan are kept until it has ended. A try changes only an open rescan in the database of the name
 * `record`. After a restore its number may be another rescan's, or its findings may be lost.
 */
export class Rescans {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * From here on no header of the slots is pruned. Continues an open rescan of these slots; a run that has read all
   * receives the ended one. Throws SlotsNotRecorded if a slot is above the cursor, or below the first header.
   */
  async begin(
    { from, to, actor, reason }: Slots & OperatorNote,
    run: string | null = null,
  ): Promise<RescanRow & RescanTry> {
    return this.#db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const read = await readBy(trx, run, { from, to });
      if (read !== undefined) return read;
      assertReached(cursor, to);
      await assertOnRecord(trx, from);
      return trx
        .insertInto('rescan')
        .values({ fromSlot: from, toSlot: to, actor, reason, run })
        .onConflict((conflict) =>
          conflict
            .columns(['fromSlot', 'toSlot'])
            .where('endedAt', 'is', null)
            .doUpdateSet({ run: sql`coalesce(excluded.run, rescan.run)` }),
        )
        .returningAll()
        .returning(RECORD.as('record'))
        .executeTakeFirstOrThrow();
    });
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(request: PageRequest): Promise<Page<RescanRow>> {
    const newest = await this.#db
      .selectFrom('rescan')
      .selectAll()
      .where('position', '<', positionBefore(request))
      .orderBy('position', 'desc')
      .limit(request.limit + 1)
      .execute();
    return pageOf(newest, request);
  }

  /** Open rescans that a run should continue now, oldest first. */
  async due(limit: number): Promise<readonly RescanRow[]> {
    const all = this.#open(limit).where(sql<boolean>`coalesce(retry_after <= now(), true)`);
    return all.execute();
  }

  /** Rescans that have not ended, oldest first. */
  async open(limit: number): Promise<readonly RescanRow[]> {
    return this.#open(limit).execute();
  }

  #open(limit: number) {
    return this.#db
      .selectFrom('rescan')
      .selectAll()
      .where('endedAt', 'is', null)
      .orderBy('position')
      .limit(limit);
  }

  /**
   * Stores what the database lacks, with an alert for each arrival that the scan missed, and the rescan's progress.
   * Throws as `Scan.upsert` does, and Unavailable if this try is over.
   */
  async record(
    of: RescanTry,
    { blocks, watchVersion }: Matched<FoundBlock>,
    progress?: RescanProgress,
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
  async note(of: RescanTry, trouble: string): Promise<void> {
    await this.#change(of, (_trx, change) => change(() => ({ trouble })));
  }

  /**
   * All blocks with stored headers are read. The rescan of a gap that is not `read` stays open, and is retried in
   * growing intervals. Throws Unavailable if this try is over.
   */
  async end(of: RescanTry, { blocks, unread, read }: GapsRead): Promise<RescanRow> {
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

  /**
   * No run continues this rescan: its row keeps the error of its latest try, or else `reason`. It ends, unless it is
   * the rescan of a gap.
   */
  async giveUp({ from, to }: Slots, reason: string): Promise<void> {
    await this.#db
      .updateTable('rescan')
      .set({ ...UNLESS_GAP_DUE, trouble: sql<string>`coalesce(trouble, ${reason})` })
      .where('endedAt', 'is', null)
      .where('fromSlot', '=', from)
      .where('toSlot', '=', to)
      .execute();
  }

  /** The rescan's row is changed last: a transaction that holds the cursor may wait for it. */
  async #change<T>(
    { position, record }: RescanTry,
    work: (trx: Transaction<Tables>, change: (values: RescanUpdate) => Promise<RescanRow>) => Promise<T>,
  ): Promise<T> {
    return this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) throw over('the record is another one, or may be');
      return work(trx, async (values) => {
        const changed = await trx
          .updateTable('rescan')
          .set(values)
          .where('position', '=', position)
          .where('endedAt', 'is', null)
          .returningAll()
          .executeTakeFirst();
        if (changed === undefined) throw over('its rescan has ended');
        return changed;
      });
    });
  }
}

type RescanUpdate = (row: ExpressionBuilder<Tables, 'rescan'>) => UpdateObject<Tables, 'rescan'>;

function over(reason: string): DomainError {
  return new DomainError('Unavailable', `this try to read blocks again is over: ${reason}`);
}

/** Slots right above the pruned ones may have no header. Blocks before the very first were never scanned. */
async function assertOnRecord(trx: Transaction<Tables>, from: bigint): Promise<void> {
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
      ? 'the record begins'
      : `the headers up to slot ${prunedTo} are no longer on record, which begins`;
  throw new DomainError('SlotsNotRecorded', `from: ${reason} with slot ${first}`, { field: 'from' });
}

/** The newest rescan of these slots, if this run has read all of it. */
async function readBy(
  trx: Transaction<Tables>,
  run: string | null,
  { from, to }: Slots,
): Promise<(RescanRow & RescanTry) | undefined> {
  if (run === null) return undefined;
  const newest = await trx
    .selectFrom('rescan')
    .selectAll()
    .select(RECORD.as('record'))
    .where('fromSlot', '=', from)
    .where('toSlot', '=', to)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.run === run && newest.endedAt !== null && newest.trouble === null ? newest : undefined;
}
