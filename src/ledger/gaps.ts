import { type Nullable, type Selectable, sql } from 'kysely';
import type { BlockHeader } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import { type BlockName, isSameBlock } from '../domain/scan-walk.ts';
import type { Word } from '../domain/word.ts';
import { anyOf, type Database, type Tables } from './database.ts';
import { isRecord } from './doubt.ts';
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

/** Both ends included. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** What came of the audits of some wallets: nodes showed all, or not. */
export interface AuditedWallets {
  readonly audited: readonly string[];
  readonly unread: readonly string[];
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
      return moveCursor(trx, cursor, { slot: to, blockhash: gap.blockhash, height: gap.height });
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

  /**
   * Wallets that are to be audited over a closed gap, in the order of their addresses, those behind `after`: all that are watched, and
   * once each has been asked for, those of which nodes did not show all.
   */
  async unaudited(slots: Slots, after: string | null, limit: number): Promise<readonly string[]> {
    const gap = await this.#db
      .selectFrom('scanGap')
      .select('walkedAt')
      .where(isGap(slots))
      .executeTakeFirst();
    const isWalked = gap !== undefined && gap.walkedAt !== null;
    const all = sql`select address as wallet from watched_wallet`;
    const unread = sql`select wallet from gap_unread_wallet where ${isGap(slots)}`;
    const { rows } = await sql<{ wallet: string }>`select wallet from (${isWalked ? unread : all}) due
      where wallet > ${after ?? ''} order by wallet limit ${limit}`.execute(this.#db);
    return rows.map(({ wallet }) => wallet);
  }

  /** Puts on the record of that name of which wallets nodes showed all over the gap, and of which they did not. May be repeated. */
  async noteAudited({ from, to }: Slots, { audited, unread }: AuditedWallets, record: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) return;
      await trx
        .deleteFrom('gapUnreadWallet')
        .where(isGap({ from, to }))
        .where('wallet', '=', anyOf(audited))
        .execute();
      if (unread.length === 0) return;
      await trx
        .insertInto('gapUnreadWallet')
        .values(unread.map((wallet) => ({ fromSlot: from, toSlot: to, wallet })))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
  }

  /**
   * Every wallet has been asked for over the gap, on the record of that name: it is audited once none is left of which nodes did not show
   * all. Nothing in another record: see `DepositAddresses.markAudited`.
   */
  async markAudited(slots: Slots, record: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) return;
      await trx
        .updateTable('scanGap')
        .set({
          walkedAt: sql<Date>`coalesce(walked_at, now())`,
          auditedAt: sql<Date | null>`case when exists (select from gap_unread_wallet unread
            where unread.from_slot = scan_gap.from_slot and unread.to_slot = scan_gap.to_slot) then null else now() end`,
        })
        .where(isGap(slots))
        .where('state', '=', 'closed')
        .where('auditedAt', 'is', null)
        .execute();
    });
  }
}

function isGap({ from, to }: Slots) {
  return sql<boolean>`(from_slot = ${from} and to_slot = ${to})`;
}
