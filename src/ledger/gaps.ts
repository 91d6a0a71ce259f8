import { type Selectable, sql } from 'kysely';
import type { BlockHeader } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import { isSameBlock } from '../domain/scan-walk.ts';
import type { Word } from '../domain/word.ts';
import type { Database, Tables } from './database.ts';
import { type Cursor, lockCursor, moveCursor } from './scan-cursor.ts';

/** Slots after the cursor with blocks that no node shows. Its last block, at `toSlot`, is known from its child. */
export type GapRow = Readonly<Selectable<Tables['scanGap']>>;

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
  async close({
    from,
    to,
    who,
    why,
  }: Word & { readonly from: bigint; readonly to: bigint }): Promise<Cursor> {
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
        const message = `no gap is open from slot ${from} to ${to}`;
        throw new DomainError('NotFound', message, { from: from.toString(), to: to.toString() });
      }
      if (gap.state === 'closed') return cursor;
      await trx
        .updateTable('scanGap')
        .set({ state: 'closed', who, why, endedAt: sql<Date>`now()` })
        .where('state', '=', 'open')
        .execute();
      const last = { slot: to, blockhash: gap.blockhash, height: gap.height };
      await moveCursor(trx, last);
      return last;
    });
  }

  /** Those that were closed and whose addresses are still to be audited, the oldest first. */
  async toAudit(limit: number): Promise<readonly GapRow[]> {
    return this.#db
      .selectFrom('scanGap')
      .selectAll()
      .where('state', '=', 'closed')
      .where('auditedAt', 'is', null)
      .orderBy('fromSlot')
      .limit(limit)
      .execute();
  }

  async markAudited(from: bigint, to: bigint): Promise<void> {
    await this.#db
      .updateTable('scanGap')
      .set({ auditedAt: sql<Date>`now()` })
      .where('fromSlot', '=', from)
      .where('toSlot', '=', to)
      .where('state', '=', 'closed')
      .where('auditedAt', 'is', null)
      .execute();
  }
}
