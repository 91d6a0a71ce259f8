import { sql } from 'kysely';
import { anyOf, type Database, Repository } from '../database.ts';
import { Groups } from '../groups.ts';

/** Payments of one payer, as far as they cost our fee payers. */
export interface PayerHistory {
  /** Number of payments that failed on chain at our cost since the start of the period, and since the last landed one. */
  readonly failures: number;
  /** True if a payment of the payer has ever landed without an error. */
  readonly hasLanded: boolean;
}

/** A payment out of a token account. `isOpen`: it has no outcome yet. */
export interface SourcePayment {
  readonly id: string;
  /** Base units. */
  readonly amount: bigint;
  readonly isOpen: boolean;
}

/** Dialects whose fees our keys pay. */
const SPONSORED_DIALECTS = ['v1', 'v2'] as const;

interface HistoryPeriod {
  readonly payer: string;
  readonly since: Date;
}

interface SourceQuery {
  readonly sourceAccount: string;
  readonly ids: readonly string[];
}

/**
 * Queries about what x402 payments cost our fee payers. Reads that many buyers cause at the same time are one statement.
 */
export class PaymentCosts extends Repository {
  readonly #histories = new Groups((periods: readonly HistoryPeriod[]) => readHistories(this.db, periods));
  readonly #sources = new Groups((queries: readonly SourceQuery[]) => readSources(this.db, queries));

  /**
   * Maximum fees in lamports of the payments since `since` that are open, or that landed, with or without an error. A
   * payment that ended before it was signed, or that never landed, costs nothing.
   */
  async spentSince(
    since: Date,
    column: 'feePayer' | 'payer' | 'facilitatorKey',
    value: string,
  ): Promise<bigint> {
    const { spent } = await this.db
      .selectFrom('payment')
      .select(sql<bigint>`coalesce(sum(fee_lamports), 0)`.as('spent'))
      .where('createdAt', '>', since)
      .where('dialect', 'in', SPONSORED_DIALECTS)
      .where(column, '=', value)
      .where(COSTS)
      .executeTakeFirstOrThrow();
    return spent;
  }

  payerHistory(payer: string, since: Date): Promise<PayerHistory> {
    return this.#histories.add({ payer, since });
  }

  /** The open payments out of a token account, and those of `ids` that are stored. */
  paymentsOf(sourceAccount: string, ids: readonly string[]): Promise<readonly SourcePayment[]> {
    return this.#sources.add({ sourceAccount, ids });
  }

  /**
   * Counts recent buyers of a route whose fees our keys pay. `failed`: how many of them have a newest payment that
   * failed on chain. Reads at most `limits.payments` payments, and counts at most `limits.buyers` buyers.
   */
  async failuresOf(
    route: string,
    since: Date,
    limits: { readonly payments: number; readonly buyers: number },
  ): Promise<{ readonly buyers: number; readonly failed: number }> {
    const newest = this.db
      .selectFrom('payment')
      .select(['payer', 'createdAt', 'failedAt'])
      .where('route', '=', route)
      .where('createdAt', '>', since)
      .where('dialect', 'in', SPONSORED_DIALECTS)
      .orderBy('createdAt', 'desc')
      .limit(limits.payments)
      .as('newest');
    const byBuyer = this.db
      .selectFrom(newest)
      .selectAll()
      .distinctOn('payer')
      .orderBy('payer')
      .orderBy('createdAt', 'desc')
      .as('by_buyer');
    const counted = this.db
      .selectFrom(byBuyer)
      .select('failedAt')
      .orderBy('createdAt', 'desc')
      .limit(limits.buyers)
      .as('counted');
    return this.db
      .selectFrom(counted)
      .select([
        sql<number>`count(*)::integer`.as('buyers'),
        sql<number>`count(failed_at)::integer`.as('failed'),
      ])
      .executeTakeFirstOrThrow();
  }
}

async function readHistories(
  db: Database,
  periods: readonly HistoryPeriod[],
): Promise<(period: HistoryPeriod) => PayerHistory> {
  const { rows } = await sql<PayerHistory>`
    select landed.paid_at is not null as has_landed, (
      select count(*)::integer from payment
      where payer = asked.payer and dialect = any(${SPONSORED_DIALECTS}::text[]) and failed_at > asked.since
        and failed_at > coalesce(landed.paid_at, '-infinity')
    ) as failures
    from unnest(
      ${periods.map(({ payer }) => payer)}::text[], ${periods.map(({ since }) => since)}::timestamptz[]
    ) with ordinality as asked (payer, since, n)
    left join lateral (
      select paid_at from payment
      where payer = asked.payer and paid_at is not null and state = any(${LANDED_STATES}::text[])
      order by paid_at desc
      limit 1
    ) as landed on true
    order by asked.n`.execute(db);
  return (period) => {
    const history = rows[periods.indexOf(period)];
    if (history === undefined) throw new Error(`the history of ${period.payer} was not read`);
    return history;
  };
}

async function readSources(
  db: Database,
  queries: readonly SourceQuery[],
): Promise<(query: SourceQuery) => readonly SourcePayment[]> {
  const columns = [
    'id',
    'sourceAccount',
    sql<bigint>`(terms ->> 'amount')::numeric`.as('amount'),
    sql<boolean>`state = 'settling'`.as('isOpen'),
  ] as const;
  const open = db
    .selectFrom('payment')
    .select(columns)
    .where('sourceAccount', '=', anyOf([...new Set(queries.map(({ sourceAccount }) => sourceAccount))]))
    .where('state', '=', 'settling');
  const named = db
    .selectFrom('payment')
    .select(columns)
    .where('id', '=', anyOf([...new Set(queries.flatMap(({ ids }) => ids))]));
  const rows = await open.union(named).execute();
  return ({ sourceAccount, ids }) => {
    const own = new Set(ids);
    return rows.filter((row) => own.has(row.id) || (row.isOpen && row.sourceAccount === sourceAccount));
  };
}

const LANDED_STATES = ['owed', 'served', 'refundable', 'unmatched'] as const;

/** SQL that is true for a payment that is open or has landed. `received` is null if an unmatched one was never ours. */
const COSTS = sql<boolean>`case state when 'void' then failed_at is not null
  when 'unmatched' then received is not null else true end`;
