import { sql } from 'kysely';
import { z } from 'zod';
import { isSameBlock } from '../../domain/block-link.ts';
import { NOT_CREDITED_REASONS } from '../../domain/deposit.ts';
import type { Slots } from '../../domain/scan.ts';
import { Repository, type RowOf, toJson } from '../database.ts';
import { appendBlocks, type MatchedBlock } from './scan.ts';
import { type Cursor, lockCursor } from './scan-cursor.ts';
import { assertNotPaused } from './scan-pauses.ts';
import { type MatchedBlocks, type StaleWatchSet, staleWatchSet } from './watched.ts';

/** Blocks that were scanned ahead of the cursor; `parentSlot` and `previousBlockhash` are those of the first block. */
export type StagedRangeRow = Omit<RowOf<'stagedRange'>, 'blocks'>;

/** `nothing`: no staged range begins with the child of the cursor. */
export type JoinResult =
  | { readonly kind: 'committed'; readonly cursor: Cursor }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'nothing' };

/**
 * Ranges of blocks that a catch-up scans in parallel. A range is committed when the cursor reaches the parent of its
 * first block. Its blocks are matched when it is staged, so they are not scanned for addresses that are added later.
 */
export class StagedRanges extends Repository {
  /** Replaces the range that begins at `from`; deletes it if no slot has a block. Throws ScanPaused. */
  async stage({
    from,
    to,
    blocks: found,
    watchVersion,
  }: MatchedBlocks<MatchedBlock> & Slots): Promise<'staged' | StaleWatchSet> {
    return this.db.transaction().execute(async (trx) => {
      await assertNotPaused(trx);
      const stale = await staleWatchSet(trx, watchVersion);
      if (stale !== null) return stale;
      const first = found[0]?.header;
      if (first === undefined) {
        await trx.deleteFrom('stagedRange').where('fromSlot', '=', from).execute();
        return 'staged';
      }
      const { parentSlot, previousBlockhash } = first;
      const blocks = toJson(found.map(({ header, finding }) => ({ header, finding }))) ?? '[]';
      const range = { toSlot: to, parentSlot, previousBlockhash, blocks };
      await trx
        .insertInto('stagedRange')
        .values({ fromSlot: from, ...range })
        .onConflict((conflict) =>
          conflict.column('fromSlot').doUpdateSet({ ...range, stagedAt: sql<Date>`now()` }),
        )
        .execute();
      return 'staged';
    });
  }

  /** Staged ranges, lowest first. */
  async list(): Promise<readonly StagedRangeRow[]> {
    return this.db
      .selectFrom('stagedRange')
      .select(['fromSlot', 'toSlot', 'parentSlot', 'previousBlockhash', 'stagedAt'])
      .orderBy('fromSlot')
      .execute();
  }

  /** Commits the staged range whose first block is the cursor's child. Throws as {@link Scan.commit} does. */
  async join(expected: Cursor): Promise<JoinResult> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      if (cursor === null || !isSameBlock(cursor, expected)) return { kind: 'overtaken' };
      await assertNotPaused(trx);
      const next = await trx
        .selectFrom('stagedRange')
        .select('blocks')
        .where('parentSlot', '=', cursor.slot)
        .where('previousBlockhash', '=', cursor.blockhash)
        .orderBy('toSlot', 'desc')
        .executeTakeFirst();
      if (next === undefined) return { kind: 'nothing' };
      const newCursor = await appendBlocks(trx, cursor, stagedBlocks.parse(next.blocks));
      return { kind: 'committed', cursor: newCursor };
    });
  }
}

const integer = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt);
const movement = {
  signature: z.string(),
  account: z.string(),
  wallet: z.string(),
  asset: z.string(),
  amount: integer,
};
const stagedBlocks = z.array(
  z.object({
    header: z.object({
      slot: integer,
      blockhash: z.string(),
      parentSlot: integer,
      previousBlockhash: z.string(),
      height: integer,
      time: integer.nullable(),
    }),
    finding: z.object({
      inflows: z.array(z.object({ ...movement, reason: z.enum(NOT_CREDITED_REASONS).nullable() })),
      outflows: z.array(z.object({ ...movement, ownerSigned: z.boolean() })),
      spends: z.array(z.object({ signature: z.string(), wallet: z.string(), error: z.string().nullable() })),
    }),
  }),
);
