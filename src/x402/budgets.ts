import type { Ledger } from '../ledger/ledger.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import type { ExactPayment } from './terms.ts';

export interface BudgetDeps {
  readonly ledger: Pick<Ledger, 'payments'>;
  /** Fee limits per hour, in lamports: of each fee payer key, and for each buyer. */
  readonly budgets: { readonly feePayer: bigint; readonly buyer: bigint };
}

const HOUR_MS = 3_600_000;
/**
 * A route is closed if the newest payment of half of its newest buyers failed (10 to 20 buyers in ten minutes): it
 * costs fees and earns nothing. A buyer counts once, so that one wallet never closes a route.
 */
const LATELY_MS = 600_000;
const LOOKED_AT = { payments: 1_000, buyers: 20 };
const FEWEST = 10;
/** Sums are read at most once a second, not once a payment. */
const SUM_KEPT_MS = 1_000;

/** Limits the fees per hour of each fee payer, of each buyer, and of routes whose payments keep failing. */
export class Budgets {
  readonly #deps: BudgetDeps;
  readonly #spentByKey = new TtlCache<bigint>(SUM_KEPT_MS);
  readonly #spentByBuyer = new TtlCache<bigint>(SUM_KEPT_MS);
  readonly #failing = new TtlCache<boolean>(SUM_KEPT_MS);

  constructor(deps: BudgetDeps) {
    this.#deps = deps;
  }

  /** Why our fee payer does not pay for this payment now; null if it does, or if the buyer pays the fee. */
  async refusal({ feePayer, payer }: ExactPayment, route: string): Promise<string | null> {
    if (feePayer === payer) return null;
    const { budgets, ledger } = this.#deps;
    const since = new Date(Date.now() - HOUR_MS);
    const lately = new Date(Date.now() - LATELY_MS);
    const [byKey, byBuyer, isFailing] = await Promise.all([
      this.#spentByKey.get(feePayer, () => ledger.payments.spentSince(since, 'feePayer', feePayer)),
      this.#spentByBuyer.get(payer, () => ledger.payments.spentSince(since, 'payer', payer)),
      this.#failing.get(route, () => this.#keepsFailing(route, lately)),
    ]);
    if (isFailing)
      return `payments of ${route} keep failing on chain at our cost: nothing is settled there for now`;
    if (byKey >= budgets.feePayer) return `fee payer ${feePayer} has spent its budget of this hour`;
    if (byBuyer < budgets.buyer) return null;
    return `the payments of ${payer} have cost their budget of this hour`;
  }

  async #keepsFailing(route: string, since: Date): Promise<boolean> {
    const { buyers, failed } = await this.#deps.ledger.payments.failuresOf(route, since, LOOKED_AT);
    return buyers >= FEWEST && failed * 2 >= buyers;
  }
}
