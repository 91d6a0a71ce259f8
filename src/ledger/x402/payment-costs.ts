import { sql } from 'kysely';
import { Repository } from '../database.ts';

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

/** Queries about what x402 payments cost our fee payers. */
export class PaymentCosts extends Repository {
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

  async payerHistory(payer: string, since: Date): Promise<PayerHistory> {
    const landed = this.db
      .selectFrom('payment')
      .select('paidAt')
      .where('payer', '=', payer)
      .where('paidAt', 'is not', null)
      .where('state', 'in', LANDED_STATES)
      .orderBy('paidAt', 'desc')
      .limit(1);
    const { lastLanded, failures } = await this.db
      .with('landed', () => landed)
      .selectNoFrom((row) => [
        row.selectFrom('landed').select('paidAt').as('lastLanded'),
        row
          .selectFrom('payment')
          .select(sql<number>`count(*)::integer`.as('failures'))
          .where('payer', '=', payer)
          .where('dialect', 'in', SPONSORED_DIALECTS)
          .where('failedAt', '>', since)
          .where(sql<boolean>`failed_at > coalesce((select paid_at from landed), '-infinity')`)
          .as('failures'),
      ])
      .executeTakeFirstOrThrow();
    return { failures: failures ?? 0, hasLanded: lastLanded !== null };
  }

  /** The open payments out of a token account, and those of `ids` that are stored. */
  async paymentsOf(sourceAccount: string, ids: readonly string[]): Promise<readonly SourcePayment[]> {
    const columns = [
      'id',
      sql<bigint>`(terms ->> 'amount')::numeric`.as('amount'),
      sql<boolean>`state = 'settling'`.as('isOpen'),
    ] as const;
    const open = this.db
      .selectFrom('payment')
      .select(columns)
      .where('sourceAccount', '=', sourceAccount)
      .where('state', '=', 'settling');
    // An array, so that any number of ids has the same statement, which is prepared.
    const named = this.db.selectFrom('payment').select(columns).where(sql<boolean>`id = any(${ids}::text[])`);
    return open.union(named).execute();
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

const LANDED_STATES = ['owed', 'served', 'refundable', 'unmatched'] as const;

/** SQL that is true for a payment that is open or has landed. `received` is null if an unmatched one was never ours. */
const COSTS = sql<boolean>`case state when 'void' then failed_at is not null
  when 'unmatched' then received is not null else true end`;
