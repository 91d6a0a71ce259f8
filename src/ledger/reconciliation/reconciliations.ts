import { sql } from 'kysely';
import { type Alarm, type AlertKind, WHOLE } from '../../domain/alerts.ts';
import type { WatchKind } from '../../domain/deposit.ts';
import { behindAlarm, type ReconciliationProgress, type Tally } from '../../domain/reconciliation.ts';
import { highest } from '../../domain/units.ts';
import { anyOf, COUNT, type Database, Repository, type RowOf, type Trx } from '../database.ts';
import { closeAlert, raiseAlert, syncOpenAlerts } from '../operations/alerts.ts';

/**
 * Position of the comparison. The next page begins after the wallet `after`, or at the first wallet if that is null.
 * `pages`: number of pages compared in all passes. A page is committed only if this number has not changed.
 */
export type PassCursor = Pick<RowOf<'reconciliation'>, 'after' | 'pages' | 'passes'>;

export type UnreadWallet = Pick<RowOf<'unreadWallet'>, 'wallet' | 'reason'>;

export interface ComparedPage {
  /** The wallet after which the next page begins; null if this page was the last of the pass. */
  readonly next: string | null;
  readonly compared: readonly string[];
  readonly tally: Tally;
  /** All alerts about the compared wallets, each with its `wallet` in the details. */
  readonly alarms: readonly Alarm[];
  readonly unread: readonly UnreadWallet[];
}

export interface EndedPass extends Tally {
  readonly begunAt: Date;
  readonly endedAt: Date;
}

export interface OpenPass extends Tally {
  readonly begunAt: Date;
  /** The wallet after which the pass continues; null at its beginning. */
  readonly after: string | null;
  /**
   * Why the newest round of this pass ended early; null if a page was stored after that, or if no round ended early.
   */
  readonly haltedBecause: string | null;
}

/** State of the comparison of balances with the database. `last` and `open` are both null before the first pass. */
export interface PassesView {
  readonly last: EndedPass | null;
  readonly open: OpenPass | null;
  /** Exact up to 10,000; above that, PostgreSQL's estimate. */
  readonly watched: number;
  readonly unread: number;
  /** Wallets whose last comparison had no result, longest waiting first; not necessarily all of them. */
  readonly longestUnread: readonly RowOf<'unreadWallet'>[];
}

const WALLET_ALERTS: readonly AlertKind[] = [
  'balance_difference',
  'confidential_pending',
  'deposit_account_frozen',
  'nested_tokens',
];
const BEHIND_ALERT = 'reconciliation_behind' as const;
/** Shorter than the hour between rounds, so that each round retries every unread wallet. */
const RETRY_AFTER_MINUTES = 50;
/** Larger numbers of watched wallets are estimated: counting ten million rows takes seconds. */
const MAX_EXACT_COUNT = 10_000n;

/**
 * Progress of the comparison of all wallets, in the order of their addresses. A pass can take any number of rounds
 * and processes. A page, its alerts and the next position are one transaction, which first checks that the stored
 * position has not changed.
 */
export class Reconciliations extends Repository {
  /** Returns the position of the running pass. Begins a new pass if none is running. */
  async begin(): Promise<PassCursor> {
    return this.db
      .insertInto('reconciliation')
      .values({ begunAt: sql<Date>`now()` })
      .onConflict((conflict) =>
        conflict.column('one').doUpdateSet({ begunAt: sql<Date>`coalesce(reconciliation.begun_at, now())` }),
      )
      .returning(['after', 'pages', 'passes'])
      .executeTakeFirstOrThrow();
  }

  /** Wallets to compare again, longest waiting first. */
  async due(limit: number, kind?: WatchKind): Promise<readonly string[]> {
    const retryBefore = sql<Date>`now() - make_interval(mins => ${RETRY_AFTER_MINUTES})`;
    const rows = await unreadOf(this.db, kind)
      .select('unreadWallet.wallet')
      .where('askedAt', '<', retryBefore)
      .orderBy('askedAt')
      .limit(limit)
      .execute();
    return rows.map(({ wallet }) => wallet);
  }

  /** Stores a page. Returns false without effect if another process has continued from that position. */
  async commit(
    { pages }: PassCursor,
    { next, compared, tally, alarms, unread }: ComparedPage,
  ): Promise<boolean> {
    const { wallets, accounts, differences } = tally;
    return this.db.transaction().execute(async (trx) => {
      const moved = await trx
        .updateTable('reconciliation')
        .set((row) => ({
          pages: pages + 1n,
          after: next,
          haltedBecause: null,
          wallets: row('wallets', '+', BigInt(wallets)),
          accounts: row('accounts', '+', BigInt(accounts)),
          differences: row('differences', '+', BigInt(differences)),
        }))
        .where('pages', '=', pages)
        .executeTakeFirstOrThrow();
      if (moved.numUpdatedRows === 0n) return false;
      if (next === null) await endPass(trx);
      await syncOpenAlerts(trx, WALLET_ALERTS, alarms, compared);
      await trx.deleteFrom('unreadWallet').where('wallet', '=', anyOf(compared)).execute();
      await noteUnread(trx, unread);
      return true;
    });
  }

  /** Stores why a round ended early at that position. No effect if another process has continued from it. */
  async halt({ pages }: Pick<PassCursor, 'pages'>, haltedBecause: string): Promise<void> {
    await this.db.updateTable('reconciliation').set({ haltedBecause }).where('pages', '=', pages).execute();
  }

  /** The running and the last pass, and at most `unreadLimit` of the unread wallets. */
  async passes(unreadLimit: number): Promise<PassesView> {
    const row = await this.db.selectFrom('reconciliation').selectAll().executeTakeFirst();
    const longestUnread = await unreadOf(this.db)
      .selectAll('unreadWallet')
      .orderBy('since')
      .limit(unreadLimit)
      .execute();
    const [watched, unread] = [await watchedCount(this.db), await unreadCount(this.db)];
    return { ...passesOf(row), watched, unread, longestUnread };
  }

  /** Raises or closes the alert about wallets that were not compared for too long, of one kind or of all. */
  async updateBehindAlert(kind?: WatchKind): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const { now, ...progress } = await progressOf(trx, kind);
      const alarm = behindAlarm(progress, now);
      if (alarm !== null) await raiseAlert(trx, alarm);
      else await closeAlert(trx, BEHIND_ALERT, WHOLE);
    });
  }
}

/** Stores the running pass as the last complete one. No pass is running after that. */
async function endPass(trx: Trx): Promise<void> {
  await trx
    .updateTable('reconciliation')
    .set((row) => ({
      passes: row('passes', '+', 1n),
      begunAt: null,
      comparedSince: sql<Date>`coalesce(begun_at, compared_since)`,
      wallets: 0n,
      accounts: 0n,
      differences: 0n,
      lastBegunAt: row.ref('begunAt'),
      lastEndedAt: sql<Date>`now()`,
      lastWallets: row.ref('wallets'),
      lastAccounts: row.ref('accounts'),
      lastDifferences: row.ref('differences'),
    }))
    .execute();
}

function passesOf(row: RowOf<'reconciliation'> | undefined): Pick<PassesView, 'last' | 'open'> {
  if (row === undefined) return { last: null, open: null };
  const { begunAt, after, haltedBecause, lastBegunAt, lastEndedAt } = row;
  return {
    last:
      lastBegunAt === null || lastEndedAt === null
        ? null
        : {
            ...tallyOf(row.lastWallets, row.lastAccounts, row.lastDifferences),
            begunAt: lastBegunAt,
            endedAt: lastEndedAt,
          },
    open:
      begunAt === null
        ? null
        : { ...tallyOf(row.wallets, row.accounts, row.differences), begunAt, after, haltedBecause },
  };
}

function tallyOf(wallets: bigint, accounts: bigint, differences: bigint): Tally {
  return { wallets: Number(wallets), accounts: Number(accounts), differences: Number(differences) };
}

/** Watched wallets, of one kind or of all, whose last comparison had no result. */
function unreadOf(db: Database, kind?: WatchKind) {
  const unread = db
    .selectFrom('unreadWallet')
    .innerJoin('watchedWallet', 'watchedWallet.address', 'unreadWallet.wallet');
  return kind === undefined ? unread : unread.where('watchedWallet.kind', '=', kind);
}

async function unreadCount(db: Database, kind?: WatchKind): Promise<number> {
  const { unread } = await unreadOf(db, kind).select(COUNT.as('unread')).executeTakeFirstOrThrow();
  return unread;
}

async function watchedCount(db: Database): Promise<number> {
  const { rows } = await sql<{ readonly counted: bigint; readonly estimated: bigint }>`select
      (select count(*) from (select from watched_wallet limit ${MAX_EXACT_COUNT}) as wallet) as counted,
      (select reltuples::bigint from pg_class where oid = 'watched_wallet'::regclass) as estimated`.execute(
    db,
  );
  const [{ counted, estimated } = { counted: 0n, estimated: 0n }] = rows;
  return Number(counted < MAX_EXACT_COUNT ? counted : highest([counted, estimated]));
}

async function noteUnread(trx: Trx, unread: readonly UnreadWallet[]): Promise<void> {
  if (unread.length === 0) return;
  await trx
    .insertInto('unreadWallet')
    .values(unread.map(({ wallet, reason }) => ({ wallet, reason })))
    .onConflict((conflict) =>
      conflict
        .column('wallet')
        .doUpdateSet((row) => ({ reason: row.ref('excluded.reason'), askedAt: sql<Date>`now()` })),
    )
    .execute();
}

async function progressOf(
  trx: Trx,
  kind: WatchKind | undefined,
): Promise<ReconciliationProgress & { readonly now: Date }> {
  const row = await trx
    .selectFrom('reconciliation')
    .select(['after', 'comparedSince', sql<Date>`now()`.as('now')])
    .executeTakeFirstOrThrow();
  const longest = await unreadOf(trx, kind)
    .select(['unreadWallet.wallet', 'since', 'reason'])
    .orderBy('since')
    .limit(1)
    .executeTakeFirst();
  return { ...row, unread: await unreadCount(trx, kind), longest: longest ?? null };
}
