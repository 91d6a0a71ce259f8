import { sql, type Transaction } from 'kysely';
import type { Alarm, AlertKind } from '../../domain/alerts.ts';
import { WHOLE } from '../../domain/alerts.ts';
import type { WatchKind } from '../../domain/deposit.ts';
import { behindAlarm, type ReconciliationProgress, type Tally } from '../../domain/reconciliation.ts';
import { anyOf, type Database, type Tables } from '../database.ts';
import { closeAlerts, keepOnlyAlerts, raiseAlert } from '../operations/alerts.ts';
import { countedWith, endPass, type PassesView, readPasses, unreadOf } from './passes.ts';

/** Position of the comparison: after the wallet `after`, or at the first one if that is null. */
export interface PassCursor {
  readonly after: string | null;
  /** Pages that were ever compared. A page is committed only if this number has not changed. */
  readonly pages: bigint;
}

export interface UnreadWallet {
  readonly wallet: string;
  readonly reason: string;
}

export interface ComparedPage {
  /** The wallet after which the next page begins; null if this page was the last of the pass. */
  readonly next: string | null;
  readonly compared: readonly string[];
  readonly tally: Tally;
  /** All alerts about the compared wallets, each with its `wallet` in the details. */
  readonly alarms: readonly Alarm[];
  readonly unread: readonly UnreadWallet[];
}

const TOLD: readonly AlertKind[] = [
  'balance_difference',
  'confidential_pending',
  'deposit_account_frozen',
  'nested_tokens',
];
const BEHIND = 'reconciliation_behind' as const;
/** Rounds begin hourly: each one asks again for every unread wallet. */
const ASKED_AGAIN_AFTER_MINUTES = 50;

/**
 * Progress of the comparison of all wallets, in the order of their addresses, over any number of rounds and
 * processes. A page, its alerts and the next position are one transaction, which first compares the stored position.
 */
export class Reconciliations {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The position of the running pass, or of a new one if the last has ended. */
  async begin(): Promise<PassCursor> {
    return this.#db
      .insertInto('reconciliation')
      .values({ begunAt: sql<Date>`now()` })
      .onConflict((conflict) =>
        conflict.column('one').doUpdateSet({ begunAt: sql<Date>`coalesce(reconciliation.begun_at, now())` }),
      )
      .returning(['after', 'pages'])
      .executeTakeFirstOrThrow();
  }

  /** Wallets to compare again, longest waiting first. */
  async due(limit: number, kind?: WatchKind): Promise<readonly string[]> {
    const again = sql<Date>`now() - make_interval(mins => ${ASKED_AGAIN_AFTER_MINUTES})`;
    const rows = await unreadOf(this.#db, kind)
      .select('unreadWallet.wallet')
      .where('askedAt', '<', again)
      .orderBy('askedAt')
      .limit(limit)
      .execute();
    return rows.map(({ wallet }) => wallet);
  }

  /** Commits a page. Returns false if another process has continued from that position. */
  async commit(
    { pages }: PassCursor,
    { next, compared, tally, alarms, unread }: ComparedPage,
  ): Promise<boolean> {
    return this.#db.transaction().execute(async (trx) => {
      const moved = await trx
        .updateTable('reconciliation')
        .set({ pages: pages + 1n, after: next, haltedBecause: null, ...countedWith(tally) })
        .where('pages', '=', pages)
        .executeTakeFirstOrThrow();
      if (moved.numUpdatedRows === 0n) return false;
      if (next === null) await endPass(trx);
      await keepOnlyAlerts(trx, TOLD, alarms, compared);
      await trx.deleteFrom('unreadWallet').where('wallet', '=', anyOf(compared)).execute();
      await noteUnread(trx, unread);
      return true;
    });
  }

  /** Stores why no wallet was compared from that position, unless another process has continued from it. */
  async halt({ pages }: PassCursor, haltedBecause: string): Promise<void> {
    await this.#db.updateTable('reconciliation').set({ haltedBecause }).where('pages', '=', pages).execute();
  }

  passes(unreadShown: number): Promise<PassesView> {
    return readPasses(this.#db, unreadShown);
  }

  /** Raises or closes the alert about wallets that were not compared for too long, of one kind or of all. */
  async tell(kind?: WatchKind): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      const { now, ...standing } = await standingOf(trx, kind);
      const alarm = behindAlarm(standing, now);
      if (alarm !== null) await raiseAlert(trx, alarm);
      else await closeAlerts(trx, (row) => row.and([row('kind', '=', BEHIND), row('subject', '=', WHOLE)]));
    });
  }
}

async function noteUnread(trx: Transaction<Tables>, unread: readonly UnreadWallet[]): Promise<void> {
  if (unread.length === 0) return;
  await trx
    .insertInto('unreadWallet')
    .values(unread.map(({ wallet, reason }) => ({ wallet, reason })))
    .onConflict((conflict) =>
      conflict
        .column('wallet')
        .doUpdateSet((given) => ({ reason: given.ref('excluded.reason'), askedAt: sql<Date>`now()` })),
    )
    .execute();
}

async function standingOf(
  trx: Transaction<Tables>,
  kind: WatchKind | undefined,
): Promise<ReconciliationProgress & { readonly now: Date }> {
  const row = await trx
    .selectFrom('reconciliation')
    .select(['after', 'comparedSince', sql<Date>`now()`.as('now')])
    .executeTakeFirstOrThrow();
  const { unread } = await unreadOf(trx, kind)
    .select((one) => one.fn.countAll<bigint>().as('unread'))
    .executeTakeFirstOrThrow();
  const longest = await unreadOf(trx, kind)
    .select(['unreadWallet.wallet', 'since', 'reason'])
    .orderBy('since')
    .limit(1)
    .executeTakeFirst();
  return { ...row, unread: Number(unread), longest: longest ?? null };
}
