import { type Nullable, sql } from 'kysely';
import { type BlockName, isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { Slots } from '../../domain/scan.ts';
import { Repository, type RowOf } from '../database.ts';
import { type Cursor, lockCursor, moveCursor } from './scan-cursor.ts';

/**
 * A range of slots whose blocks no node returned to the scan. `filled`: a node returned the blocks later. `closed`: an
 * operator continued without them. Hash and height are those of the block at `toSlot`, taken from its child's header.
 */
export type GapRow = RowOf<'scanGap'>;

/** `below`: the stored block before the gap; null if its header is pruned. `above`: slot of the next stored block. */
export interface ClosedGap extends Pick<GapRow, 'fromSlot' | 'toSlot'> {
  readonly below: BlockName | null;
  readonly above: bigint;
}

/**
 * Gaps that stopped the scan. At most one gap is open: it begins right after the cursor and ends when the cursor passes
 * it.
 */
export class Gaps extends Repository {
  /** Lists gaps, newest first. */
  async list(limit: number): Promise<readonly GapRow[]> {
    return this.db
      .selectFrom('scanGap')
      .selectAll()
      .orderBy('fromSlot', 'desc')
      .orderBy('toSlot', 'desc')
      .limit(limit)
      .execute();
  }

  /**
   * Opens a gap from the block after the cursor to the parent of `child`, the next block that a node returns. Replaces
   * an open gap that ends elsewhere. Returns undefined if the cursor is no longer at `expected`.
   */
  async open(expected: Cursor, child: BlockHeader): Promise<GapRow | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      if (cursor === null || !isSameBlock(cursor, expected)) return undefined;
      const [fromSlot, toSlot] = [cursor.slot + 1n, child.parentSlot];
      await trx.deleteFrom('scanGap').where('state', '=', 'open').where('toSlot', '<>', toSlot).execute();
      const lastBlock = { blockhash: child.previousBlockhash, height: child.height - 1n };
      return trx
        .insertInto('scanGap')
        .values({ fromSlot, toSlot, ...lastBlock, state: 'open' })
        .onConflict((conflict) => conflict.columns(['fromSlot', 'toSlot']).doUpdateSet(lastBlock))
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /**
   * Continues without the blocks of the open gap. The cursor moves to the gap's last block, which the child's header
   * identifies, so that the next commit links to it. Begins a rescan of the gap that stays open until a quorum of nodes
   * has returned its blocks. Idempotent. Throws NotFound if no such gap is open.
   */
  async close({ from, to, actor, reason }: Slots & OperatorNote): Promise<Cursor> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      const gap = await trx
        .selectFrom('scanGap')
        .selectAll()
        .where('fromSlot', '=', from)
        .where('toSlot', '=', to)
        .where('state', '<>', 'filled')
        .executeTakeFirst();
      if (cursor === null || gap === undefined) {
        const open = await trx
          .selectFrom('scanGap')
          .selectAll()
          .where('state', '=', 'open')
          .executeTakeFirst();
        const state =
          open === undefined
            ? 'no gap is open'
            : `the open gap covers slots ${open.fromSlot} to ${open.toSlot}`;
        const message = `there is no open gap from slot ${from} to ${to}: ${state}`;
        throw new DomainError('NotFound', message, { from: from.toString(), to: to.toString() });
      }
      if (gap.state === 'closed') return cursor;
      await trx
        .updateTable('scanGap')
        .set({ state: 'closed', actor, reason, endedAt: sql<Date>`now()` })
        .where('state', '=', 'open')
        .execute();
      await trx
        .insertInto('backfill')
        .values({ repair: true, fromSlot: from, toSlot: to, actor, reason })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return moveCursor(trx, cursor, { slot: to, blockhash: gap.blockhash, height: gap.height });
    });
  }

  /** Closed gaps that overlap slots `from` to `to`, lowest first, each with the stored blocks around it. */
  async closedBetween(from: bigint, to: bigint): Promise<readonly ClosedGap[]> {
    // The block right below a gap can be the last block of another gap. That block is in `scan_gap`, not in `block`.
    const { rows } = await sql<Pick<GapRow, 'fromSlot' | 'toSlot'> & { above: bigint } & Nullable<BlockName>>`
      select gap.from_slot as "fromSlot", gap.to_slot as "toSlot", below.slot, below.blockhash, below.height,
        coalesce((select slot from block where slot > gap.to_slot order by slot limit 1), gap.to_slot) as above
      from scan_gap gap left join lateral (
        (select slot, blockhash, height from block where slot < gap.from_slot order by slot desc limit 1)
        union all (select to_slot, blockhash, height from scan_gap
          where state = 'closed' and to_slot < gap.from_slot order by to_slot desc limit 1)
        order by slot desc limit 1) below on true
      where gap.state = 'closed' and gap.from_slot <= ${to} and gap.to_slot >= ${from}
      order by gap.from_slot`.execute(this.db);
    return rows.map(({ fromSlot, toSlot, above, slot, blockhash, height }) => ({
      fromSlot,
      toSlot,
      above,
      below: slot === null || blockhash === null || height === null ? null : { slot, blockhash, height },
    }));
  }
}
