import type { Ledger } from '../ledger/ledger.ts';
import type { FacilitatorKey } from '../ledger/operations/api-keys.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import { feeRefusal } from './budget-rules.ts';
import { type HeldPayment, SourceHolds } from './source-holds.ts';
import type { ExactPayment } from './terms.ts';

export interface BudgetDeps {
  readonly ledger: Pick<Ledger, 'paymentCosts'>;
  /**
   * Maximum fees per hour, in lamports: of each fee payer key, for each buyer, and for each caller of the facilitator
   * whose key has no budget of its own.
   */
  readonly budgets: { readonly feePayer: bigint; readonly buyer: bigint; readonly facilitatorCaller: bigint };
}

const HOUR_MS = 3_600_000;
/** The newest 10 to 20 buyers of a route in ten minutes show whether its payments keep failing. */
const FAILURE_WINDOW_MS = 600_000;
const FAILURE_SAMPLE = { payments: 1_000, buyers: 20 };
const CACHE_MS = 1_000;

/**
 * Limits the fees per hour of each fee payer, buyer and caller of the facilitator, and the payments that fail at our
 * cost: of one buyer, of new buyers on a route, and out of one token account.
 */
export class Budgets {
  readonly #deps: BudgetDeps;
  readonly #spentByKey = new TtlCache<bigint>(CACHE_MS);
  readonly #spentByBuyer = new TtlCache<bigint>(CACHE_MS);
  readonly #spentByCaller = new TtlCache<bigint>(CACHE_MS);
  readonly #newestByRoute = new TtlCache<{ readonly buyers: number; readonly failed: number }>(CACHE_MS);
  readonly #holds: SourceHolds;

  constructor(deps: BudgetDeps) {
    this.#deps = deps;
    this.#holds = new SourceHolds((source, ids) => deps.ledger.paymentCosts.paymentsOf(source, ids));
  }

  /** Why our fee payer does not pay the fee of this payment now; null if it does. */
  async refusal(
    { feePayer, payer }: Pick<ExactPayment, 'feePayer' | 'payer'>,
    route: string,
  ): Promise<string | null> {
    const { budgets, ledger } = this.#deps;
    const costs = ledger.paymentCosts;
    const since = new Date(Date.now() - HOUR_MS);
    const windowStart = new Date(Date.now() - FAILURE_WINDOW_MS);
    const [byFeePayer, byPayer, history, newest] = await Promise.all([
      this.#spentBy(feePayer),
      this.#spentByBuyer.get(payer, () => costs.spentSince(since, 'payer', payer)),
      // Not cached: a failure counts from the next payment on.
      costs.payerHistory(payer, since),
      this.#newestByRoute.get(route, () => costs.failuresOf(route, windowStart, FAILURE_SAMPLE)),
    ]);
    return feeRefusal({ feePayer, payer, route, spent: { byFeePayer, byPayer }, budgets, history, newest });
  }

  async isFeePayerWithinBudget(feePayer: string): Promise<boolean> {
    return (await this.#spentBy(feePayer)) < this.#deps.budgets.feePayer;
  }

  /** See {@link SourceHolds.readOthers}. */
  readOthers(payment: HeldPayment): ReturnType<SourceHolds['readOthers']> {
    return this.#holds.readOthers(payment);
  }

  /** Why our fee payers pay no fee for this caller of the facilitator now; null if they do. */
  async refusalOfCaller({
    name,
    lamportsPerHour,
  }: Pick<FacilitatorKey, 'name' | 'lamportsPerHour'>): Promise<string | null> {
    const { budgets, ledger } = this.#deps;
    const since = new Date(Date.now() - HOUR_MS);
    const spent = await this.#spentByCaller.get(name, () =>
      ledger.paymentCosts.spentSince(since, 'facilitatorKey', name),
    );
    if (spent < (lamportsPerHour ?? budgets.facilitatorCaller)) return null;
    const whose = name === '' ? 'callers without a key' : `callers with the key ${name}`;
    return `payments of ${whose} have used their fee budget for one hour`;
  }

  #spentBy(feePayer: string): Promise<bigint> {
    const since = new Date(Date.now() - HOUR_MS);
    return this.#spentByKey.get(feePayer, () =>
      this.#deps.ledger.paymentCosts.spentSince(since, 'feePayer', feePayer),
    );
  }
}
