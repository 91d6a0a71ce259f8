import { type Selectable, sql, type Transaction } from 'kysely';
import { highest } from '../../domain/bigint.ts';
import type { WatchKind } from '../../domain/deposit.ts';
import type { Tally } from '../../domain/reconciliation.ts';
import type { Slots } from '../../domain/slots.ts';
import type { Database, Tables } from '../database.ts';
import type { DepositTables } from '../deposits/deposit-tables.ts';

export interface EndedPass extends Tally {
  readonly begunAt: Date;
  readonly endedAt: Date;
}

export interface OpenPass extends Tally {
  readonly begunAt: Date;
  /** The wallet after which it continues; null at its beginning. */
  readonly after: string | null;
  /** Why its last round ended early; null if none did since the last page. */
  readonly haltedBecause: string | null;
}

/** A wallet whose last comparison had no result. */
export interface UncomparedWallet {
  readonly wallet: string;
  readonly reason: string;
  readonly since: Date;
  readonly askedAt: Date;
}

/** State of the comparison of balances with the database; `last` and `open` are both null if it never began. */
export interface PassesView {
  readonly last: EndedPass | null;
  readonly open: OpenPass | null;
  /** Exact up to 10,000; above that, PostgreSQL's estimate. */
  readonly watched: number;
  readonly unread: number;
  /** A part of the unread wallets, longest waiting first. */
  readonly longestUnread: readonly UncomparedWallet[];
}

const COUNTED = 10_000n;

type Counts = Pick<
  Selectable<DepositTables['reconciledPass']>,
  'wallets' | 'accounts' | 'differences' | 'fromSlot' | 'toSlot'
>;

export function countedWith({ wallets, accounts, differences, slots }: Tally) {
  return {
    wallets: sql<bigint>`wallets + ${wallets}`,
    accounts: sql<bigint>`accounts + ${accounts}`,
    differences: sql<bigint>`differences + ${differences}`,
    // `least` and `greatest` ignore NULL.
    fromSlot: sql<bigint | null>`least(from_slot, ${slots?.from ?? null}::bigint)`,
    toSlot: sql<bigint | null>`greatest(to_slot, ${slots?.to ?? null}::bigint)`,
  };
}

/** Stores the running pass as the last complete one; after that none is running. */
export async function endPass(trx: Transaction<Tables>): Promise<void> {
  await trx.deleteFrom('reconciledPass').execute();
  await sql`insert into reconciled_pass (begun_at, wallets, accounts, differences, from_slot, to_slot)
    select begun_at, wallets, accounts, differences, from_slot, to_slot from reconciliation`.execute(trx);
  await trx
    .updateTable('reconciliation')
    .set({
      begunAt: null,
      comparedSince: sql<Date>`coalesce(begun_at, compared_since)`,
      wallets: 0n,
      accounts: 0n,
      differences: 0n,
      fromSlot: null,
      toSlot: null,
    })
    .execute();
}

/** Reads one snapshot, with at most `longest` of the unread wallets. */
export async function readPasses(db: Database, longest: number): Promise<PassesView> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const last = await lastPass(trx);
      const open = await openPass(trx);
      const watched = await watchedCount(trx);
      const unread = await unreadCount(trx);
      const longestUnread = await longestUnreadOf(trx, longest);
      return { last, open, watched, unread, longestUnread };
    });
}

/** Watched wallets, of one kind or of all, whose last comparison had no result. */
export function unreadOf(db: Database, kind?: WatchKind) {
  const unread = db
    .selectFrom('unreadWallet')
    .innerJoin('watchedWallet', 'watchedWallet.address', 'unreadWallet.wallet');
  return kind === undefined ? unread : unread.where('watchedWallet.kind', '=', kind);
}

async function lastPass(trx: Transaction<Tables>): Promise<EndedPass | null> {
  const row = await trx.selectFrom('reconciledPass').selectAll().executeTakeFirst();
  return row === undefined ? null : { ...tallyOf(row), begunAt: row.begunAt, endedAt: row.endedAt };
}

async function openPass(trx: Transaction<Tables>): Promise<OpenPass | null> {
  const row = await trx.selectFrom('reconciliation').selectAll().executeTakeFirst();
  if (row === undefined || row.begunAt === null) return null;
  const { begunAt, after, haltedBecause } = row;
  return { ...tallyOf(row), begunAt, after, haltedBecause };
}

// Counting ten million rows takes seconds.
async function watchedCount(trx: Transaction<Tables>): Promise<number> {
  const { rows } = await sql<{ readonly counted: bigint; readonly estimated: bigint }>`select
      (select count(*) from (select from watched_wallet limit ${COUNTED}) as wallet) as counted,
      (select reltuples::bigint from pg_class where oid = 'watched_wallet'::regclass) as estimated`.execute(
    trx,
  );
  const [{ counted, estimated } = { counted: 0n, estimated: 0n }] = rows;
  return Number(counted < COUNTED ? counted : highest([counted, estimated]));
}

async function unreadCount(trx: Transaction<Tables>): Promise<number> {
  const { unread } = await unreadOf(trx)
    .select((row) => row.fn.countAll<bigint>().as('unread'))
    .executeTakeFirstOrThrow();
  return Number(unread);
}

function longestUnreadOf(trx: Transaction<Tables>, limit: number): Promise<readonly UncomparedWallet[]> {
  return unreadOf(trx)
    .select(['unreadWallet.wallet', 'reason', 'since', 'askedAt'])
    .orderBy('since')
    .limit(limit)
    .execute();
}

function tallyOf({ wallets, accounts, differences, fromSlot, toSlot }: Counts): Tally {
  return {
    wallets: Number(wallets),
    accounts: Number(accounts),
    differences: Number(differences),
    slots: spanOf(fromSlot, toSlot),
  };
}

function spanOf(from: bigint | null, to: bigint | null): Slots | null {
  return from === null || to === null ? null : { from, to };
}
