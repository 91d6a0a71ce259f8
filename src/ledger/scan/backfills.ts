import { type ExpressionBuilder, sql, type UpdateObject } from 'kysely';
import type { AuditReport } from '../../domain/audit.ts';
import { GAP_UNREAD, type RescanResult, type StoredBackfillCommand } from '../../domain/backfill.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { rangeOf, type Slots } from '../../domain/scan.ts';
import { Repository, type RowOf, type Tables, type Trx } from '../database.ts';
import { alertMissedInflows } from '../deposits/missed.ts';
import { DATABASE_ID, isSameDatabase } from '../operations/restore-detection.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { nextRetryAt } from '../retry-after.ts';
import type { FoundBlock } from './findings.ts';
import type { GapRow } from './gaps.ts';
import { upsertBlocks } from './scan.ts';
import { assertScanned, lockCursor } from './scan-cursor.ts';
import { type MatchedBlocks, type StaleWatchSet, staleWatchSet } from './watched.ts';

export type BackfillRow = RowOf<'backfill'>;

/** A try of a backfill: the backfill's position, and the id of the database in which the try began. */
export type BackfillTry = Pick<BackfillRow, 'position'> & { readonly databaseId: string };

/**
 * `read`: closed gaps in which a quorum of nodes returned every block. `blocks`: number of blocks read in all closed
 * gaps.
 */
export interface GapsRead extends Omit<RescanResult, 'found'> {
  readonly read: readonly Pick<GapRow, 'fromSlot' | 'toSlot'>[];
}

/** `blocks`: number of blocks read since the previous report. `readTo`: slot up to which all blocks are read. */
export type BackfillProgress = Pick<RescanResult, 'blocks'> & { readonly readTo: bigint };

/**
 * True if the `backfill` must stay open: no quorum has returned the blocks of its closed gap, and their headers remain.
 */
const IS_GAP_DUE = sql<boolean>`exists (select from scan_gap gap
  where gap.from_slot = backfill.from_slot and gap.to_slot = backfill.to_slot and backfill.address is null
    and gap.state = 'closed'
    and gap.read_at is null and gap.from_slot > coalesce((select pruned_to from scan_cursor), -1))`;

const END_UNLESS_GAP_DUE = {
  endedAt: sql<Date | null>`case when ${IS_GAP_DUE} then null else now() end`,
  retryAfter: nextRetryAt(sql`begun_at`),
};

/** What to read: the blocks of these slots for all wallets, or the transaction history of one `address`. */
export interface BackfillSubject extends Slots {
  readonly address?: string | null;
  /** Whether missing deposits are recorded. Default: true. */
  readonly repair?: boolean;
}

/**
 * Rescans of blocks and audits of addresses. Block headers are retained until their backfill ends. A try changes only
 * an open backfill of the database in which the try began: after a restore, its position can belong to another
 * backfill, and its findings can be lost.
 */
export class Backfills extends Repository {
  /**
   * Begins a backfill or continues the open one of this subject. From the commit on, no header of the slots is pruned.
   * A workflow run that has already read everything receives its ended backfill. Throws SlotsNotRecorded for a slot
   * above the cursor, and for blocks below the first stored header.
   */
  async begin(
    { from, to, address = null, repair = true, actor, reason }: BackfillSubject & OperatorNote,
    run: string | null = null,
  ): Promise<BackfillRow & BackfillTry> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const completed = await findCompletedBy(trx, run, { from, to, address, repair });
      if (completed !== undefined) return completed;
      assertScanned(cursor, to);
      if (address === null) await assertHeadersStored(trx, from);
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

  /** Lists backfills, newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
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

  /** Open backfills whose next try is due, oldest first. */
  async listDue(limit: number): Promise<readonly BackfillRow[]> {
    return this.#openQuery(limit).where(sql<boolean>`coalesce(retry_after <= now(), true)`).execute();
  }

  /** Backfills that have not ended, oldest first. */
  async listOpen(limit: number): Promise<readonly BackfillRow[]> {
    return this.#openQuery(limit).execute();
  }

  #openQuery(limit: number) {
    return this.db
      .selectFrom('backfill')
      .selectAll()
      .where('endedAt', 'is', null)
      .orderBy('position')
      .limit(limit);
  }

  /**
   * Stores missing findings and the progress, and raises an alert for each incoming transfer that the scan missed.
   * Throws as {@link Scan.upsert} does, and Unavailable if this try has ended.
   */
  async record(
    current: BackfillTry,
    { blocks, watchVersion }: MatchedBlocks<FoundBlock>,
    progress?: BackfillProgress,
  ): Promise<'committed' | StaleWatchSet> {
    return this.#change(current, async (trx, change) => {
      const stale = await staleWatchSet(trx, watchVersion);
      if (stale !== null) return stale;
      const added = await upsertBlocks(trx, blocks);
      await alertMissedInflows(trx, added);
      await change((row) => ({
        found: row('found', '+', added.length),
        blocks: row('blocks', '+', progress?.blocks ?? 0),
        trouble: null,
        ...(progress === undefined ? {} : { readTo: progress.readTo }),
      }));
      return 'committed';
    });
  }

  /** Stores the error of this try, which will be retried. Throws Unavailable if this try has ended. */
  async recordError(current: BackfillTry, trouble: string): Promise<void> {
    await this.#change(current, (_trx, change) => change(() => ({ trouble })));
  }

  /**
   * Ends a backfill that has read all blocks with stored headers. The backfill of a gap that is not in `read` stays
   * open, and is retried at growing intervals. Throws Unavailable if this try has ended.
   */
  async end(current: BackfillTry, { blocks, unread, read }: GapsRead): Promise<BackfillRow> {
    return this.#change(current, async (trx, change) => {
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
        ...END_UNLESS_GAP_DUE,
      }));
    });
  }

  /** Ends the audit of an address with this result. Throws Unavailable if this try has ended. */
  async endAudit(current: BackfillTry, report: AuditReport): Promise<BackfillRow> {
    return this.#change(current, (_trx, change) =>
      change(() => ({
        found: report.found,
        report: JSON.stringify(report),
        trouble: null,
        endedAt: sql<Date>`now()`,
      })),
    );
  }

  /**
   * Ends the open backfill of a subject whose run failed, unless a closed gap still needs it. Its row retains the error
   * of the latest try, or `reason` if there is none.
   */
  async giveUp(subject: BackfillSubject, reason: string): Promise<void> {
    await this.db
      .updateTable('backfill')
      .set({ ...END_UNLESS_GAP_DUE, trouble: sql<string>`coalesce(trouble, ${reason})` })
      .where('endedAt', 'is', null)
      .where(matchesSubject(subject))
      .execute();
  }

  /** The backfill's row is updated last, because a transaction that has locked the cursor can wait for this row. */
  async #change<T>(
    { position, databaseId }: BackfillTry,
    work: (trx: Trx, change: (values: BackfillUpdate) => Promise<BackfillRow>) => Promise<T>,
  ): Promise<T> {
    return this.db.transaction().execute(async (trx) => {
      if (!(await isSameDatabase(trx, databaseId)))
        throw endedTryError('the database may have been restored from a backup after the try began');
      return work(trx, async (values) => {
        const openBackfill = trx
          .updateTable('backfill')
          .where('position', '=', position)
          .where('endedAt', 'is', null);
        const updated = openBackfill.set(values).returningAll();
        return updated.executeTakeFirstOrThrow(() => endedTryError('the backfill has ended'));
      });
    });
  }
}

function matchesSubject({ from, to, address = null, repair = true }: BackfillSubject) {
  return sql<boolean>`(from_slot = ${from} and to_slot = ${to} and repair = ${repair}
    and address is not distinct from ${address})`;
}

/** The operator's command that a stored backfill executes. */
export function commandOf({
  fromSlot,
  toSlot,
  address,
  repair,
  actor,
  reason,
}: BackfillRow): StoredBackfillCommand {
  const command = { ...rangeOf({ from: fromSlot, to: toSlot }), actor, reason };
  return address === null ? command : { ...command, address, repair };
}

type BackfillUpdate = (row: ExpressionBuilder<Tables, 'backfill'>) => UpdateObject<Tables, 'backfill'>;

function endedTryError(reason: string): DomainError {
  return new DomainError('Unavailable', `this try of the backfill has ended: ${reason}`);
}

/** Skipped slots right above the pruned ones have no header, so `from` is compared with `prunedTo` if that is set. */
async function assertHeadersStored(trx: Trx, from: bigint): Promise<void> {
  const { prunedTo, first } = await trx
    .selectFrom('scanCursor')
    .select([
      'prunedTo',
      (row) => row.selectFrom('block').select('slot').orderBy('slot').limit(1).as('first'),
    ])
    .executeTakeFirstOrThrow();
  if (prunedTo === null ? first === null || from >= first : from > prunedTo) return;
  const reason =
    prunedTo === null ? 'the scan began there' : `the block headers up to slot ${prunedTo} are deleted`;
  throw new DomainError('SlotsNotRecorded', `slots before ${first} cannot be read again: ${reason}`, {
    field: 'from',
  });
}

/** The newest backfill of this subject, if this workflow run has completed it. */
async function findCompletedBy(
  trx: Trx,
  run: string | null,
  subject: BackfillSubject,
): Promise<(BackfillRow & BackfillTry) | undefined> {
  if (run === null) return undefined;
  const newest = await trx
    .selectFrom('backfill')
    .selectAll()
    .select(DATABASE_ID.as('databaseId'))
    .where(matchesSubject(subject))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.run === run && newest.endedAt !== null && newest.trouble === null ? newest : undefined;
}
