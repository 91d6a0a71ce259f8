import { sql } from 'kysely';
import { isSameBlock } from '../../domain/block-link.ts';
import { type BlockFinding, type BlockHeader, depositKey } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { Repository, type Trx } from '../database.ts';
import type { BlockInflow } from '../deposits/deposit-merge.ts';
import { inputRows } from '../deposits/input-rows.ts';
import { type FoundBlock, recordFindings, removeUnreturnedOutflows } from './findings.ts';
import {
  assertLinked,
  type Cursor,
  type LockedCursor,
  lockCursor,
  moveCursor,
  readCursor,
} from './scan-cursor.ts';
import { assertNotPaused } from './scan-pauses.ts';
import { type MatchedBlocks, type StaleWatchSet, staleWatchSet } from './watched.ts';

export interface MatchedBlock {
  readonly header: BlockHeader;
  readonly finding: BlockFinding;
}

const HEADER_COLUMNS = [
  'slot',
  'blockhash',
  'parentSlot',
  'previousBlockhash',
  'height',
  'time',
] as const satisfies readonly (keyof BlockHeader)[];

/** `overtaken`: another scanner has moved the cursor; the caller must read the cursor again. */
export type CommitResult = 'committed' | 'overtaken' | StaleWatchSet;

/**
 * The cursor of the scan and the block headers up to it. The cursor moves only together with the findings of blocks.
 */
export class Scan extends Repository {
  /** The cursor; null if the scan has never started. */
  async cursor(): Promise<Cursor | null> {
    return readCursor(this.db);
  }

  /** Starts the scan after this block, unless the scan has started already. Returns the stored cursor. */
  async start(header: BlockHeader): Promise<Cursor> {
    return this.db.transaction().execute(async (trx) => {
      const { slot, blockhash, height } = header;
      const inserted = await trx
        .insertInto('scanCursor')
        .values({ slot, blockhash, height })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (inserted.numInsertedOrUpdatedRows === 1n) await insertHeaders(trx, [header]);
      return (await lockCursor(trx)) ?? { slot, blockhash, height };
    });
  }

  /** Records that a quorum of nodes has finalized slot `tip`, which can be far ahead of the cursor. */
  async recordTip(tip: bigint): Promise<void> {
    await this.db
      .updateTable('scanCursor')
      .set({ tip })
      .where((row) => row.or([row('tip', 'is', null), row('tip', '<', tip)]))
      .execute();
  }

  /**
   * Commits the blocks after `expected`, at least one, and moves the cursor in the same transaction. A repeated commit
   * returns `committed` if its last block is the cursor. Throws ScanPaused, and IllegalTransition for unlinked blocks.
   */
  async commit({
    expected,
    blocks,
    watchVersion,
  }: MatchedBlocks<MatchedBlock> & { readonly expected: Cursor }): Promise<CommitResult> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const last = blocks.at(-1)?.header;
      if (cursor === null || last === undefined) return 'overtaken';
      if (isSameBlock(cursor, last)) return 'committed';
      if (!isSameBlock(cursor, expected)) return 'overtaken';
      await assertNotPaused(trx);
      const stale = await staleWatchSet(trx, watchVersion);
      if (stale !== null) return stale;
      await appendBlocks(trx, cursor, blocks);
      return 'committed';
    });
  }

  /**
   * Stores missing findings of blocks up to the cursor; the cursor does not move. Findings of an older watch version
   * are accepted. Idempotent. Throws InvalidRequest for a block above the cursor, and NodeFault for a block that
   * contradicts the stored headers.
   */
  async upsert({
    blocks,
    watchVersion,
  }: MatchedBlocks<FoundBlock>): Promise<'committed' | 'unknown_version'> {
    return this.db.transaction().execute(async (trx) => {
      if ((await staleWatchSet(trx, watchVersion)) === 'unknown_version') return 'unknown_version';
      await upsertBlocks(trx, blocks);
      return 'committed';
    });
  }

  /** Headers of the committed blocks from slot `from` to slot `to`, both included, lowest first. */
  async headersBetween(from: bigint, to: bigint): Promise<readonly BlockHeader[]> {
    return this.db
      .selectFrom('block')
      .select(HEADER_COLUMNS)
      .where('slot', '>=', from)
      .where('slot', '<=', to)
      .orderBy('slot')
      .execute();
  }
}

/**
 * {@link Scan.upsert} in the caller's transaction. Returns the incoming transfers that were not stored as finalized.
 */
export async function upsertBlocks(trx: Trx, blocks: readonly FoundBlock[]): Promise<readonly BlockInflow[]> {
  const stored = await withStoredHeaders(trx, blocks);
  await removeUnreturnedOutflows(trx, blocks);
  const added = await recordFindings(trx, stored);
  return [...new Map(added.map((arrival) => [depositKey(arrival), arrival])).values()];
}

/**
 * Commits blocks after the cursor and returns the new cursor. Throws IllegalTransition if the blocks are not linked.
 */
export async function appendBlocks(
  trx: Trx,
  cursor: LockedCursor,
  blocks: readonly MatchedBlock[],
): Promise<LockedCursor> {
  const headers = blocks.map(({ header }) => header);
  assertLinked(cursor, headers);
  await insertHeaders(trx, headers);
  await recordFindings(trx, blocks);
  const { slot, blockhash, height } = headers.at(-1) ?? cursor;
  return moveCursor(trx, cursor, { slot, blockhash, height });
}

async function insertHeaders(trx: Trx, headers: readonly BlockHeader[]): Promise<void> {
  await trx
    .insertInto('block')
    .columns(HEADER_COLUMNS)
    .expression(trx.selectFrom(inputRows('block', headers)).select(HEADER_COLUMNS))
    .execute();
}

/**
 * Stored header of a slot; its fields are null if there is none. `isSkipped`: the next header proves the slot empty.
 */
interface StoredHeader {
  readonly slot: bigint;
  readonly blockhash: string | null;
  readonly time: bigint | null;
  readonly isSkipped: boolean;
}

/**
 * Adds the stored hashes and times to blocks up to the cursor. Throws InvalidRequest for a block above the cursor, and
 * NodeFault for a block that contradicts the stored headers.
 */
async function withStoredHeaders(trx: Trx, blocks: readonly FoundBlock[]): Promise<readonly FoundBlock[]> {
  const cursor = await readCursor(trx);
  const slots = blocks.map(({ header }) => header.slot.toString());
  // A slot without a stored header is empty if the next stored header has its parent below that slot.
  const { rows } = await sql<StoredHeader>`
    select input.slot, block.blockhash, block.time, block.slot is null and next.parent_slot < input.slot as "isSkipped"
    from unnest(${slots}::bigint[]) as input(slot)
    left join block on block.slot = input.slot
    left join lateral (select parent_slot from block where block.slot > input.slot order by block.slot limit 1) next
      on true`.execute(trx);
  const storedBySlot = new Map(rows.map((row) => [row.slot, row]));
  return blocks.map(({ header, finding }) => {
    const { slot } = header;
    const context = { slot: slot.toString() };
    if (cursor === null || slot > cursor.slot)
      throw new DomainError('InvalidRequest', `block ${slot} is above the scan's cursor`, context);
    const stored = storedBySlot.get(slot);
    const blockhash = stored?.blockhash ?? header.blockhash;
    if (stored?.isSkipped === true || (header.blockhash ?? blockhash) !== blockhash)
      throw new DomainError(
        'NodeFault',
        `the node's block ${slot} contradicts the stored block headers: its hash differs, or the slot is empty`,
        context,
      );
    // A quorum agreed on the stored time; the time in `header` can come from a single node.
    const time = typeof stored?.blockhash === 'string' ? stored.time : header.time;
    return { header: { ...header, blockhash, time }, finding };
  });
}
