import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { ASSET, type SaleFilter, whereSale } from './payment-list.ts';

export const REVENUE_KEYS = ['route', 'day'] as const;

export type RevenueKey = (typeof REVENUE_KEYS)[number];

export interface RevenueRequest extends SaleFilter {
  /** Sums are always separate for each asset. */
  readonly by: readonly RevenueKey[];
  readonly from: Date;
  readonly to: Date;
}

/** Number of payments, and their sum in base units. */
export interface RevenueSum {
  readonly payments: number;
  readonly units: bigint;
}

/** `route` and `day` (UTC, of the first receipt of the payments) are null if the sums are not separate for each. */
export interface RevenueRow {
  readonly route: string | null;
  readonly day: string | null;
  readonly asset: string;
  readonly decimals: number;
  readonly finalized: RevenueSum;
  readonly confirmed: RevenueSum;
}

/**
 * Sums of the payments that are owed or served, and whose transaction is finalized or confirmed. Payments to be
 * refunded, unmatched payments, and served payments that moved no money do not count. Reads every payment of the period.
 */
export async function readRevenue(db: Database, request: RevenueRequest): Promise<readonly RevenueRow[]> {
  const { by } = request;
  const route = by.includes('route') ? sql<string | null>`route` : NONE;
  const day = by.includes('day')
    ? sql<string | null>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')`
    : NONE;
  const rows = await whereSale(db.selectFrom('payment'), request)
    .select([route.as('route'), day.as('day'), ASSET.as('asset'), DECIMALS.as('decimals')])
    .select([count(IS_FINAL).as('finalizedPayments'), sum(IS_FINAL).as('finalizedUnits')])
    .select([count(IS_OPEN).as('confirmedPayments'), sum(IS_OPEN).as('confirmedUnits')])
    .where('state', 'in', ['owed', 'served'])
    .where(sql<boolean>`(${IS_FINAL} or ${IS_CONFIRMED})`)
    .groupBy([sql`1`, sql`2`, sql`3`, sql`4`])
    .orderBy(sql`2`)
    .orderBy(sql`1`)
    .orderBy(sql`3`)
    .execute();
  return rows.map(({ finalizedPayments, finalizedUnits, confirmedPayments, confirmedUnits, ...row }) => ({
    ...row,
    finalized: { payments: finalizedPayments, units: finalizedUnits },
    confirmed: { payments: confirmedPayments, units: confirmedUnits },
  }));
}

const NONE = sql<string | null>`null::text`;
const DECIMALS = sql<number>`(terms ->> 'decimals')::integer`;
const IS_FINAL = sql<boolean>`settled_at is not null`;
const IS_OPEN = sql<boolean>`settled_at is null`;
/** A scalar subquery is one lookup by key, for the few payments that are not final. */
const IS_CONFIRMED = sql<boolean>`(select status from settlement where settlement.id = payment.id) = 'confirmed'`;

function count(which: RawBuilder<boolean>) {
  return sql<number>`(count(*) filter (where ${which}))::integer`;
}

/** The received amount can exceed the price, or be unknown. */
function sum(which: RawBuilder<boolean>) {
  return sql<bigint>`coalesce(sum(coalesce(received, (terms ->> 'amount')::numeric)) filter (where ${which}), 0)`;
}
