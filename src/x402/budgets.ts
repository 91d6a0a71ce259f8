import type { Ledger } from '../ledger/ledger.ts';
import type { FacilitatorKey } from '../ledger/operations/api-keys.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import type { ExactPayment } from './terms.ts';

export interface BudgetDeps {
  readonly ledger: Pick<Ledger, 'payments'>;
  /**
   * Maximum fees per hour, in lamports: of each fee payer key, for each buyer, and for each caller of the facilitator
   * whose key has no budget of its own.
   */
  readonly budgets: { readonly feePayer: bigint; readonly buyer: bigint; readonly facilitatorCaller: bigint };
}

const HOUR_MS = 3_600_000;
/**
 * A route takes no payments while they cost fees and earn nothing: the newest payment of at least half of its newest
 * buyers failed, among 10 to 20 buyers in ten minutes. Each buyer counts once, so that one wallet cannot close a route.
 */
const FAILURE_WINDOW_MS = 600_000;
const FAILURE_SAMPLE = { payments: 1_000, buyers: 20 };
const MIN_BUYERS = 10;
const CACHE_MS = 1_000;

/** Limits the fees per hour of each fee payer, buyer and caller of the facilitator, and of routes whose payments keep failing. */
export class Budgets {
  readonly #deps: BudgetDeps;
  readonly #spentByKey = new TtlCache<bigint>(CACHE_MS);
  readonly #spentByBuyer = new TtlCache<bigint>(CACHE_MS);
  readonly #spentByCaller = new TtlCache<bigint>(CACHE_MS);
  readonly #isFailingByRoute = new TtlCache<boolean>(CACHE_MS);

  constructor(deps: BudgetDeps) {
    this.#deps = deps;
  }

  /** Why our fee payer does not pay the fee of this payment now; null if it does, or if the buyer pays the fee. */
  async refusal({ feePayer, payer }: ExactPayment, route: string): Promise<string | null> {
    if (feePayer === payer) return null;
    const { budgets, ledger } = this.#deps;
    const since = new Date(Date.now() - HOUR_MS);
    const windowStart = new Date(Date.now() - FAILURE_WINDOW_MS);
    const [byKey, byBuyer, isFailing] = await Promise.all([
      this.#spentByKey.get(feePayer, () => ledger.payments.spentSince(since, 'feePayer', feePayer)),
      this.#spentByBuyer.get(payer, () => ledger.payments.spentSince(since, 'payer', payer)),
      this.#isFailingByRoute.get(route, () => this.#keepsFailing(route, windowStart)),
    ]);
    if (isFailing)
      return `payments of route ${route} keep failing on chain, at our cost: none is settled for now`;
    if (byKey >= budgets.feePayer) return `fee payer ${feePayer} has spent its fee budget for one hour`;
    if (byBuyer < budgets.buyer) return null;
    return `payments of ${payer} have used the fee budget of one buyer for one hour`;
  }

  /** Why our fee payers pay no fee for this caller of the facilitator now; null if they do. */
  async refusalOfCaller({
    name,
    lamportsPerHour,
  }: Pick<FacilitatorKey, 'name' | 'lamportsPerHour'>): Promise<string | null> {
    const { budgets, ledger } = this.#deps;
    const since = new Date(Date.now() - HOUR_MS);
    const spent = await this.#spentByCaller.get(name, () =>
      ledger.payments.spentSince(since, 'facilitatorKey', name),
    );
    if (spent < (lamportsPerHour ?? budgets.facilitatorCaller)) return null;
    const whose = name === '' ? 'callers without a key' : `callers with the key ${name}`;
    return `payments of ${whose} have used their fee budget for one hour`;
  }

  async #keepsFailing(route: string, since: Date): Promise<boolean> {
    const { buyers, failed } = await this.#deps.ledger.payments.failuresOf(route, since, FAILURE_SAMPLE);
    return buyers >= MIN_BUYERS && failed * 2 >= buyers;
  }
}
