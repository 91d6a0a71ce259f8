import { type RawBuilder, sql } from 'kysely';
import type { Ledger } from '../../src/ledger/ledger.ts';

/** Medians in milliseconds over the served payments, by the clock of PostgreSQL. */
export interface Phases {
  /** From the stored payment to its stored attempt: Temporal starts the workflow, and the worker prepares. */
  readonly toPreparedMs: number;
  /** The worker signs and sends, the chain confirms, and the worker sees and records it. */
  readonly toPaidMs: number;
  /** Temporal answers the gateway, and the upstream answers. */
  readonly toServedMs: number;
}

/** For payments stored at `since` or later; null if there are none. */
export async function phasesOf({ db }: Pick<Ledger, 'db'>, since: Date): Promise<Phases | null> {
  const phase = (from: RawBuilder<unknown>, to: RawBuilder<unknown>) =>
    sql<
      number | null
    >`percentile_cont(0.5) within group (order by 1000 * extract(epoch from ${to} - ${from}))::float8`;
  const [opened, prepared] = [sql`payment.created_at`, sql`attempt.created_at`];
  const [paid, served] = [sql`payment.paid_at`, sql`payment.served_at`];
  const row = await db
    .selectFrom('payment')
    .innerJoin('attempt', 'attempt.settlementId', 'payment.id')
    .select([
      phase(opened, prepared).as('toPreparedMs'),
      phase(prepared, paid).as('toPaidMs'),
      phase(paid, served).as('toServedMs'),
    ])
    .where('payment.createdAt', '>=', since)
    .executeTakeFirstOrThrow();
  const { toPreparedMs, toPaidMs, toServedMs } = row;
  if (toPreparedMs === null || toPaidMs === null || toServedMs === null) return null;
  return {
    toPreparedMs: Math.round(toPreparedMs),
    toPaidMs: Math.round(toPaidMs),
    toServedMs: Math.round(toServedMs),
  };
}
