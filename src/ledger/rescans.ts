import { type Selectable, sql, type Transaction } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import type { RescanResult } from '../domain/rescan.ts';
import type { Slots } from '../domain/slots.ts';
import type { Word } from '../domain/word.ts';
import type { Database, Tables } from './database.ts';
import type { RescanTable } from './deposit-tables.ts';
import type { FoundBlock } from './findings.ts';
import { raiseMissed } from './missed.ts';
import { type Page, type PageRequest, pageOf, positionBefore } from './page.ts';
import { type CommitResult, upsertBlocks } from './scan.ts';
import { lockCursor } from './scan-cursor.ts';
import type { Matched } from './watched.ts';

export type RescanRow = Readonly<Selectable<RescanTable>>;

/** So many more blocks are read, and with them all up to this slot. */
export type RescanProgress = Pick<RescanResult, 'blocks'> & { readonly readTo: bigint };

/** Twice as long as the activity that reads is given: whoever began then is gone. */
const FORSAKEN_AFTER = sql`interval '2 days'`;

/** Every rescan, how far it is and what it came to. Until it has ended its headers are kept. */
export class Rescans {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * From here on nothing of it is pruned. The one of the same slots that has not ended is gone on with; a run that has read it to its
   * end already is answered that one. Throws InvalidRequest where some of it was pruned before.
   */
  async begin({ from, to, who, why }: Slots & Word, run: string | null = null): Promise<RescanRow> {
    return this.#db.transaction().execute(async (trx) => {
      await lockCursor(trx);
      const read = await readBy(trx, run, { from, to });
      if (read !== undefined) return read;
      const cursor = await trx.selectFrom('scanCursor').select('prunedTo').executeTakeFirst();
      const prunedTo = cursor?.prunedTo ?? null;
      if (prunedTo !== null && from <= prunedTo) {
        const message = `from: the headers up to slot ${prunedTo} are no longer on record`;
        throw new DomainError('InvalidRequest', message, { field: 'from' });
      }
      return trx
        .insertInto('rescan')
        .values({ fromSlot: from, toSlot: to, who, why, run })
        .onConflict((conflict) =>
          conflict
            .columns(['fromSlot', 'toSlot'])
            .where('endedAt', 'is', null)
            .doUpdateSet({ triedAt: sql<Date>`now()`, run: sql`coalesce(excluded.run, rescan.run)` }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /** Newest first. Throws InvalidRequest for a cursor that no page gave out. */
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

  /** Those under way, the oldest first. */
  async open(limit: number): Promise<readonly RescanRow[]> {
    return this.#db
      .selectFrom('rescan')
      .selectAll()
      .where('endedAt', 'is', null)
      .orderBy('position')
      .limit(limit)
      .execute();
  }

  /**
   * Puts on record what the blocks lack there, each that the scan should have found with an alert, and what that makes of the rescan,
   * `progress` included. Throws as `Scan.upsert` does.
   */
  async record(
    position: bigint,
    matched: Matched<FoundBlock>,
    progress?: RescanProgress,
  ): Promise<CommitResult> {
    return this.#db.transaction().execute(async (trx) => {
      const added = await upsertBlocks(trx, matched);
      if (added === null) return 'overtaken';
      await raiseMissed(trx, added);
      await trx
        .updateTable('rescan')
        .set((row) => ({
          found: row('found', '+', added.length),
          blocks: row('blocks', '+', progress?.blocks ?? 0),
          trouble: null,
          ...(progress === undefined ? {} : { readTo: progress.readTo }),
        }))
        .where('position', '=', position)
        .execute();
      return 'committed';
    });
  }

  /** What it failed by; it is tried again. */
  async note(position: bigint, trouble: string): Promise<void> {
    await this.#db
      .updateTable('rescan')
      .set({ trouble })
      .where('position', '=', position)
      .where('endedAt', 'is', null)
      .execute();
  }

  /** All is read whose headers are on record, and so many blocks in gaps: what nodes have of them. Answers what it came to. */
  async end(position: bigint, inGaps: number): Promise<RescanRow> {
    return this.#db
      .updateTable('rescan')
      .set((row) => ({
        blocks: row('blocks', '+', inGaps),
        trouble: null,
        endedAt: sql<Date>`now()`,
      }))
      .where('position', '=', position)
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Nobody reads this range any more, for what the newest try failed by; for `why` where that try could not put it on record. */
  async giveUp({ from, to }: Slots, why: string): Promise<void> {
    await giveUp(this.#db, why).where('fromSlot', '=', from).where('toSlot', '=', to).execute();
  }
}

/** The newest of these slots, where this run has read all of it. */
async function readBy(
  trx: Transaction<Tables>,
  run: string | null,
  { from, to }: Slots,
): Promise<RescanRow | undefined> {
  if (run === null) return undefined;
  const newest = await trx
    .selectFrom('rescan')
    .selectAll()
    .where('fromSlot', '=', from)
    .where('toSlot', '=', to)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.run === run && newest.endedAt !== null && newest.trouble === null ? newest : undefined;
}

/** Ends those whose run was lost: they must not keep headers for ever. */
export async function dropForsaken(trx: Transaction<Tables>): Promise<void> {
  await giveUp(trx, 'its run was lost').where('triedAt', '<', sql<Date>`now() - ${FORSAKEN_AFTER}`).execute();
}

function giveUp(db: Database, why: string) {
  return db
    .updateTable('rescan')
    .set({ endedAt: sql<Date>`now()`, trouble: sql<string>`coalesce(trouble, ${why})` })
    .where('endedAt', 'is', null);
}
