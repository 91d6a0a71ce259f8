import { sql, type Transaction, type UpdateObject } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Slots } from '../../domain/slots.ts';
import { anyOf, type Database, type Tables } from '../database.ts';
import { isRecord } from '../operations/restore-detection.ts';
import { nextLook } from '../retry-after.ts';
import type { GapRow } from './gaps.ts';

export interface AuditedWallets {
  readonly audited: readonly string[];
  readonly unread: readonly string[];
}

/** `unread`: the number of wallets whose history was incomplete; `wallets`: some of them. */
export interface GapAudit extends Pick<GapRow, 'walkedAt' | 'unshownSince' | 'auditedAt'> {
  readonly unread: number;
  readonly wallets: readonly string[];
}

/** `counts`: a quorum of nodes has the blocks, so absence is proof. `in vain`: only findings count. */
export type AuditEffect = 'counts' | 'in vain';

const NAMED = 3;

/**
 * Audits of closed gaps. The first walk asks for every wallet, later walks only for wallets whose history was
 * incomplete. Once a quorum of nodes has blocks that were missing, every wallet is asked for again. Each method
 * changes only the database of the name `record`: see `ImportAudits`.
 */
export class GapAudits {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Gaps whose audit is due, oldest first. */
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

  /** Undefined if no such gap is closed. */
  async of(slots: Slots): Promise<GapAudit | undefined> {
    return standingOf(this.#db, slots);
  }

  /** Wallets to audit, after `after`, by address: all watched ones, then only those with an incomplete history. */
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

  /** A quorum of nodes has the blocks now: every wallet is audited again, because an absence counts now. */
  async begin(slots: Slots, record: string): Promise<void> {
    await this.#change(slots, record, { walkedAt: null, unshownSince: null, auditAfter: null });
  }

  /** No quorum of nodes has the blocks: this walk proves no absence. */
  async noteUnshown(slots: Slots, record: string): Promise<void> {
    const unshownSince = sql<Date>`coalesce(unshown_since, now())`;
    await this.#change(slots, record, { unshownSince });
  }

  /**
   * Stores for which wallets nodes returned the whole history over the gap. Idempotent. A late page does not change
   * an ended audit. Throws Unavailable for a walk in vain once one that counts has begun, which reads the page
   * again.
   */
  async noteWallets(
    { from, to }: Slots,
    { audited, unread }: AuditedWallets,
    walk: AuditEffect,
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
   * The audit has ended if a quorum of nodes has the blocks and every history is complete. Otherwise it is retried,
   * in growing intervals while blocks are missing. Returns the new state; null if the database is another one.
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

  async #change(slots: Slots, record: string, values: GapUpdate): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (await isRecord(trx, record)) await change(trx, slots, values);
    });
  }
}

/** Undefined if the gap needs no audit; locked until the transaction ends. */
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

async function change(trx: Transaction<Tables>, slots: Slots, values: GapUpdate): Promise<void> {
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

type GapUpdate = UpdateObject<Tables, 'scanGap'>;

function isGap({ from, to }: Slots) {
  return sql<boolean>`(from_slot = ${from} and to_slot = ${to})`;
}
