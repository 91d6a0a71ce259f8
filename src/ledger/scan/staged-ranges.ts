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

/** Blocks that were scanned ahead of the cursor; `parentSlot` and `previousBlockhash` are those of the first one. */
export type StagedRangeRow = Omit<RowOf<'stagedRange'>, 'blocks'>;

/** `nothing`: no staged range begins with the child of the cursor. */
export type JoinResult =
  | { readonly kind: 'committed'; readonly cursor: Cursor }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'nothing' };

/**
 * Ranges that many workers scan at once in a catch-up, until each is joined to the cursor by its hash link. A range
 * is matched when it is staged: for addresses added later, its blocks are in the past.
 */
export class StagedRanges extends Repository {
  /** Replaces the range staged from `from`; stores none if all slots are skipped. Throws as `Scan.commit` does. */
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
      // Another worker may stage the same blocks at this moment.
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

  /** Ranges that wait to be joined, lowest first. */
  async list(): Promise<readonly StagedRangeRow[]> {
    return this.db
      .selectFrom('stagedRange')
      .select(['fromSlot', 'toSlot', 'parentSlot', 'previousBlockhash', 'stagedAt'])
      .orderBy('fromSlot')
      .execute();
  }

  /** Commits the range that begins with the cursor's child. Throws as `Scan.commit` does. */
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
      const joined = await appendBlocks(trx, cursor, stagedBlocks.parse(next.blocks));
      return { kind: 'committed', cursor: joined };
    });
  }
}

const whole = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt);
const movement = {
  signature: z.string(),
  account: z.string(),
  wallet: z.string(),
  asset: z.string(),
  amount: whole,
};
const stagedBlocks = z.array(
  z.object({
    header: z.object({
      slot: whole,
      blockhash: z.string(),
      parentSlot: whole,
      previousBlockhash: z.string(),
      height: whole,
      time: whole.nullable(),
    }),
    finding: z.object({
      inflows: z.array(z.object({ ...movement, reason: z.enum(NOT_CREDITED_REASONS).nullable() })),
      outflows: z.array(z.object({ ...movement, ownerSigned: z.boolean() })),
      spends: z.array(z.object({ signature: z.string(), wallet: z.string(), error: z.string().nullable() })),
    }),
  }),
);
