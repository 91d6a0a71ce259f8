import { type Nullable, type Selectable, sql } from 'kysely';
import { type BlockName, isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { Slots } from '../../domain/slots.ts';
import type { Database, Tables } from '../database.ts';
import { type Cursor, lockCursor, moveCursor } from './scan-cursor.ts';

/**
 * Slots with blocks that no node showed while the cursor stood before them; `filled`: one did since; `closed`: an operator went on
 * without them. The block at `toSlot` is named by its child.
 */
export type GapRow = Readonly<Selectable<Tables['scanGap']>>;

/** A gap that was closed; `below`: the block before it, null where its header is pruned; `above`: the slot of the next on record. */
export interface ClosedGap extends Pick<GapRow, 'fromSlot' | 'toSlot'> {
  readonly below: BlockName | null;
  readonly above: bigint;
}

/** The gaps that the scan stood at. At most one is open, right after the cursor; once the cursor moves, it is filled. */
export class Gaps {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The newest first. */
  async list(limit: number): Promise<readonly GapRow[]> {
    return this.#db
      .selectFrom('scanGap')
      .selectAll()
      .orderBy('fromSlot', 'desc')
      .orderBy('toSlot', 'desc')
      .limit(limit)
      .execute();
  }

  /**
   * The scan stands at `expected`, and `child` is the first block above that a node shows: all from the cursor to the parent of
   * `child` is missing. Another open gap, such as a wider one, ends. Undefined where the cursor has moved.
   */
  async open(expected: Cursor, child: BlockHeader): Promise<GapRow | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      if (cursor === null || !isSameBlock(cursor, expected)) return undefined;
      const [fromSlot, toSlot] = [cursor.slot + 1n, child.parentSlot];
      await trx.deleteFrom('scanGap').where('state', '=', 'open').where('toSlot', '<>', toSlot).execute();
      const known = { blockhash: child.previousBlockhash, height: child.height - 1n };
      return trx
        .insertInto('scanGap')
        .values({ fromSlot, toSlot, ...known, state: 'open' })
        .onConflict((conflict) => conflict.columns(['fromSlot', 'toSlot']).doUpdateSet(known))
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /**
   * Goes on without the blocks of the open gap, on somebody's word: the cursor becomes its last block, as the child names it, so
   * that the next commit is linked as ever. May be repeated. Throws NotFound where no such gap is open.
   */
  async close({ from, to, actor, reason }: Slots & OperatorNote): Promise<Cursor> {
    return this.#db.transaction().execute(async (trx) => {
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
        const which = open === undefined ? 'none is open' : `${open.fromSlot} to ${open.toSlot} is`;
        const message = `no gap is open from slot ${from} to ${to}: ${which}`;
        throw new DomainError('NotFound', message, { from: from.toString(), to: to.toString() });
      }
      if (gap.state === 'closed') return cursor;
      await trx
        .updateTable('scanGap')
        .set({ state: 'closed', actor, reason, endedAt: sql<Date>`now()` })
        .where('state', '=', 'open')
        .execute();
      return moveCursor(trx, cursor, { slot: to, blockhash: gap.blockhash, height: gap.height });
    });
  }

  /** Those that were closed and reach into these slots, the lowest first, each with the blocks on record around it. */
  async closedBetween(from: bigint, to: bigint): Promise<readonly ClosedGap[]> {
    // Right below a gap may lie the last block of another one, which is known by name alone.
    const { rows } = await sql<Pick<GapRow, 'fromSlot' | 'toSlot'> & { above: bigint } & Nullable<BlockName>>`
      select gap.from_slot as "fromSlot", gap.to_slot as "toSlot", below.slot, below.blockhash, below.height,
        coalesce((select slot from block where slot > gap.to_slot order by slot limit 1), gap.to_slot) as above
      from scan_gap gap left join lateral (
        (select slot, blockhash, height from block where slot < gap.from_slot order by slot desc limit 1)
        union all (select to_slot, blockhash, height from scan_gap
          where state = 'closed' and to_slot < gap.from_slot order by to_slot desc limit 1)
        order by slot desc limit 1) below on true
      where gap.state = 'closed' and gap.from_slot <= ${to} and gap.to_slot >= ${from}
      order by gap.from_slot`.execute(this.#db);
    return rows.map(({ fromSlot, toSlot, above, slot, blockhash, height }) => ({
      fromSlot,
      toSlot,
      above,
      below: slot === null || blockhash === null || height === null ? null : { slot, blockhash, height },
    }));
  }
}
