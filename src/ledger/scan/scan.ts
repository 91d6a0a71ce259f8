import type { Transaction } from 'kysely';
import { isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { depositKey } from '../../domain/deposit-key.ts';
import type { Database, Tables } from '../database.ts';
import type { Arrival } from '../deposits/deposit-merge.ts';
import { appendBlocks, HEADER, insertHeaders, type MatchedBlock, namedBlocks } from './blocks.ts';
import { type FoundBlock, recordFindings, removeOtherOutflows } from './findings.ts';
import { type Cursor, lockCursor, readCursor } from './scan-cursor.ts';
import { assertNotPaused } from './scan-pauses.ts';
import { type Matched, withNewestWatchSet } from './watched.ts';

/**
 * `overtaken`: another scanner moved the cursor: read it again. `unknown_version`: this database never had the
 * version of the watch set, so it was restored: read the watch set again too.
 */
export type CommitResult = 'committed' | 'overtaken' | 'unknown_version';

/** The cursor, the headers behind it, and the only way to move it: with the findings of the next blocks. */
export class Scan {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Null before the first start. */
  async cursor(): Promise<Cursor | null> {
    return readCursor(this.#db);
  }

  /** Begins after this block, unless the scan has begun already. Returns the stored cursor. */
  async start(header: BlockHeader): Promise<Cursor> {
    return this.#db.transaction().execute(async (trx) => {
      const { slot, blockhash, height } = header;
      const begun = await trx
        .insertInto('scanCursor')
        .values({ slot, blockhash, height })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (begun.numInsertedOrUpdatedRows === 1n) await insertHeaders(trx, [header]);
      return (await lockCursor(trx)) ?? { slot, blockhash, height };
    });
  }

  /** A quorum of nodes has finalized all slots up to `tip`, which may be far ahead of the cursor. */
  async seen(tip: bigint): Promise<void> {
    await this.#db
      .updateTable('scanCursor')
      .set({ tip })
      .where((row) => row.or([row('tip', 'is', null), row('tip', '<', tip)]))
      .execute();
  }

  /**
   * Commits the blocks after `expected`, at least one, and moves the cursor, in one transaction. A repeated commit
   * returns `committed` while its last block is the cursor. Throws ScanPaused, and IllegalTransition for unlinked
   * blocks.
   */
  async commit({
    expected,
    ...matched
  }: Matched<MatchedBlock> & { readonly expected: Cursor }): Promise<CommitResult> {
    return this.#db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const last = matched.blocks.at(-1)?.header;
      if (cursor === null || last === undefined) return 'overtaken';
      if (isSameBlock(cursor, last)) return 'committed';
      if (!isSameBlock(cursor, expected)) return 'overtaken';
      await assertNotPaused(trx);
      const blocks = await withNewestWatchSet(trx, matched);
      if (blocks === null) return 'unknown_version';
      await appendBlocks(trx, cursor, blocks);
      return 'committed';
    });
  }

  /**
   * Stores missing findings of blocks behind the cursor, which stays. Idempotent. Throws InvalidRequest for a block
   * above the cursor, NodeFault for a block that the stored headers contradict.
   */
  async upsert(matched: Matched<FoundBlock>): Promise<Exclude<CommitResult, 'overtaken'>> {
    const added = await this.#db.transaction().execute((trx) => upsertBlocks(trx, matched));
    return added === null ? 'unknown_version' : 'committed';
  }

  /** Headers of the committed blocks from slot `from` to slot `to`, both included, lowest first. */
  async headersBetween(from: bigint, to: bigint): Promise<readonly BlockHeader[]> {
    return this.#db
      .selectFrom('block')
      .select(HEADER)
      .where('slot', '>=', from)
      .where('slot', '<=', to)
      .orderBy('slot')
      .execute();
  }
}

/** {@link Scan.upsert} in this transaction. Returns newly finalized arrivals, or null for an unknown version. */
export async function upsertBlocks(
  trx: Transaction<Tables>,
  matched: Matched<FoundBlock>,
): Promise<readonly Arrival[] | null> {
  const blocks = await withNewestWatchSet(trx, matched);
  if (blocks === null) return null;
  const named = await namedBlocks(trx, blocks);
  await removeOtherOutflows(trx, blocks);
  const added = await recordFindings(trx, named);
  return [...new Map(added.map((arrival) => [depositKey(arrival), arrival])).values()];
}
