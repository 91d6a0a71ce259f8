import type { Ledger } from '../ledger/ledger.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import type { ExactPayment } from './terms.ts';

export interface BudgetDeps {
  readonly ledger: Pick<Ledger, 'payments'>;
  /** What one of our keys, and what one buyer, may cost us an hour, in lamports. */
  readonly budgets: { readonly feePayer: bigint; readonly buyer: bigint };
}

const HOUR_MS = 3_600_000;
/** A key has many payments an hour: their sum is read once a second, not once a payment. */
const SUM_KEPT_MS = 1_000;

/** What our fee payers, and the payments of one buyer, may cost us an hour. */
export class Budgets {
  readonly #deps: BudgetDeps;
  readonly #spentByKey = new TtlCache<bigint>(SUM_KEPT_MS);

  constructor(deps: BudgetDeps) {
    this.#deps = deps;
  }

  /** Why our fee payer does not pay for this payment now; null where it does, or the buyer pays the fee himself. */
  async refusal({ feePayer, payer }: ExactPayment): Promise<string | null> {
    if (feePayer === payer) return null;
    const { budgets, ledger } = this.#deps;
    const since = new Date(Date.now() - HOUR_MS);
    const [byKey, byBuyer] = await Promise.all([
      this.#spentByKey.get(feePayer, () => ledger.payments.spentSince(since, { feePayer })),
      ledger.payments.spentSince(since, { payer }),
    ]);
    if (byKey >= budgets.feePayer) return `fee payer ${feePayer} has spent its budget of this hour`;
    if (byBuyer < budgets.buyer) return null;
    return `the payments of ${payer} have cost their budget of this hour`;
  }
}
