import { sql, type Transaction, type UpdateObject } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Slots } from '../../domain/slots.ts';
import { anyOf, type Database, type Tables } from '../database.ts';
import { isRecord } from '../operations/restore-detection.ts';
import { nextLook } from '../retry-after.ts';
import type { GapRow } from './gaps.ts';

/** What came of the audits of some wallets: nodes showed all, or not. */
export interface AuditedWallets {
  readonly audited: readonly string[];
  readonly unread: readonly string[];
}

/** How the audit of a gap stands; `unread`: how many wallets there are of which nodes did not show all, and some of them. */
export interface GapAudit extends Pick<GapRow, 'walkedAt' | 'unshownSince' | 'auditedAt'> {
  readonly unread: number;
  readonly wallets: readonly string[];
}

/**
 * Whether what nodes do not list proves that nothing came: it `counts` where a quorum of them shows the blocks. A walk `in vain` settles
 * nothing to its end; what it finds is put on record all the same.
 */
export type Walk = 'counts' | 'in vain';

const NAMED = 3;

/**
 * The audits of gaps that were closed: every wallet is asked for once, then those alone of which nodes did not show all. Where no quorum
 * of nodes has shown the blocks of the slots, the walk settles nothing, and every wallet is asked for again once one does. Each method
 * changes the record of that name alone: see `ImportAudits`.
 */
export class GapAudits {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Those of which something is to be asked now, the oldest first. */
  async due(limit: number): Promise<readonly GapRow[]> {
    return this.#db
      .selectFrom('scanGap')
      .selectAll()
      .where('state', '=', 'closed')
      .where('auditedAt', 'is', null)
      .where(sql<boolean>`coalesce(audit_after <= now(), true)`)
      .orderBy('fromSlot')
      .limit(limit)
      .execute();
  }

  /** Undefined where no such gap is closed. */
  async of(slots: Slots): Promise<GapAudit | undefined> {
    return standingOf(this.#db, slots);
  }

  /**
   * Wallets that are to be audited over a closed gap, in the order of their addresses, those behind `after`: all that are watched, and
   * once each has been asked for, those of which nodes did not show all.
   */
  async wallets(slots: Slots, after: string | null, limit: number): Promise<readonly string[]> {
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

  /** A quorum of nodes shows the blocks now: every wallet is asked for again, as what was not listed before counts now. */
  async begin(slots: Slots, record: string): Promise<void> {
    await this.#change(slots, record, { walkedAt: null, unshownSince: null, auditAfter: null });
  }

  /** No quorum of nodes shows the blocks: nothing of this walk settles anything. */
  async noteUnshown(slots: Slots, record: string): Promise<void> {
    const unshownSince = sql<Date>`coalesce(unshown_since, now())`;
    await this.#change(slots, record, { unshownSince });
  }

  /**
   * Puts on record of which wallets nodes showed all over the gap in this walk, and of which they did not. May be repeated. A page that comes
   * late changes nothing of a gap that is audited; throws Unavailable for one of a walk in vain where one that counts has begun: it is to
   * be read in that.
   */
  async noteWallets(
    { from, to }: Slots,
    { audited, unread }: AuditedWallets,
    walk: Walk,
    record: string,
  ): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) return;
      const gap = await lockGap(trx, { from, to });
      if (gap === undefined) return;
      if (walk === 'in vain' && gap.unshownSince === null) throw over({ from, to });
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
   * Every wallet has been asked for: the gap is audited where a quorum of nodes shows its blocks and no wallet is left of which nodes did
   * not show all. Else it is looked at again: later from look to look where its blocks are not shown. Answers how it stands then; null
   * where the record is another one, of which this tells nothing.
   */
  async end(slots: Slots, record: string): Promise<GapAudit | null> {
    const isLeft = sql`unshown_since is not null or exists (select from gap_unread_wallet unread
      where unread.from_slot = scan_gap.from_slot and unread.to_slot = scan_gap.to_slot)`;
    const values = {
      walkedAt: sql<Date>`coalesce(walked_at, now())`,
      auditedAt: sql<Date | null>`case when ${isLeft} then null else now() end`,
      auditAfter: nextLook(sql`unshown_since`),
    };
    return this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) return null;
      await change(trx, slots, values);
      return (await standingOf(trx, slots)) ?? null;
    });
  }

  async #change(slots: Slots, record: string, values: Changes): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (await isRecord(trx, record)) await change(trx, slots, values);
    });
  }
}

/** Undefined where nothing of it is left to be audited; binds until the transaction ends. */
async function lockGap(trx: Transaction<Tables>, slots: Slots) {
  return trx
    .selectFrom('scanGap')
    .select('unshownSince')
    .where(isGap(slots))
    .where('state', '=', 'closed')
    .where('auditedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst();
}

function over({ from, to }: Slots): DomainError {
  return new DomainError(
    'Unavailable',
    `a walk in vain through slots ${from} to ${to} is over: one counts now`,
  );
}

async function change(trx: Transaction<Tables>, slots: Slots, values: Changes): Promise<void> {
  await trx
    .updateTable('scanGap')
    .set(values)
    .where(isGap(slots))
    .where('state', '=', 'closed')
    .where('auditedAt', 'is', null)
    .execute();
}

async function standingOf(db: Database, slots: Slots): Promise<GapAudit | undefined> {
  const gap = await db
    .selectFrom('scanGap')
    .select(['walkedAt', 'unshownSince', 'auditedAt'])
    .where(isGap(slots))
    .where('state', '=', 'closed')
    .executeTakeFirst();
  if (gap === undefined) return undefined;
  const unread = db.selectFrom('gapUnreadWallet').where(isGap(slots));
  const { count } = await unread
    .select((row) => row.fn.countAll<bigint>().as('count'))
    .executeTakeFirstOrThrow();
  const some = await unread.select('wallet').orderBy('wallet').limit(NAMED).execute();
  return { ...gap, unread: Number(count), wallets: some.map(({ wallet }) => wallet) };
}

type Changes = UpdateObject<Tables, 'scanGap'>;

function isGap({ from, to }: Slots) {
  return sql<boolean>`(from_slot = ${from} and to_slot = ${to})`;
}
