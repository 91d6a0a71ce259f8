import type { SourcePayment } from '../ledger/x402/payment-costs.ts';
import { claimedUnits } from './budget-rules.ts';

export interface HeldPayment {
  readonly id: string;
  readonly sourceAccount: string;
  /** Base units. */
  readonly amount: bigint;
}

interface Hold {
  readonly amount: bigint;
  readonly until: number;
}

/** Longer than a simulation, and than the time from it to the row of the payment. From then on, the row counts instead. */
const HOLD_MS = 10_000;

/**
 * Keeps the payments of a token account, which this process admits at the same time, within the account's balance. Each
 * decision counts the payments that were admitted before it, and the rows that are stored before its own simulation. So
 * a payment counts that is neither stored nor on chain yet. A payment does not count before its simulation: anyone can
 * sign a transfer out of a foreign token account. Two processes at once can each admit a payment out of one balance;
 * {@link feeRefusal} bounds the payments that fail because of it.
 */
export class SourceHolds {
  readonly #bySource = new Map<string, Map<string, Hold>>();
  readonly #paymentsOf: (sourceAccount: string, ids: readonly string[]) => Promise<readonly SourcePayment[]>;
  readonly #now: () => number;

  constructor(
    paymentsOf: (sourceAccount: string, ids: readonly string[]) => Promise<readonly SourcePayment[]>,
    now: () => number = () => performance.now(),
  ) {
    this.#paymentsOf = paymentsOf;
    this.#now = now;
  }

  /**
   * Reads the other payments of the token account, to be called before the simulation. The returned function gets the
   * balance that the simulation leaves. If that covers the other payments, it holds the amount and returns true.
   */
  async readOthers({ id, sourceAccount, amount }: HeldPayment): Promise<(leftUnits: bigint) => boolean> {
    const earlier = new Map(this.#liveHolds(sourceAccount));
    const stored = await this.#paymentsOf(sourceAccount, [...earlier.keys()]);
    return (leftUnits) => {
      const holds = this.#liveHolds(sourceAccount);
      const held = [...earlier, ...holds].map(([other, hold]) => [other, hold.amount] as const);
      if (claimedUnits(id, stored, new Map(held)) > leftUnits) return false;
      holds.set(id, { amount, until: this.#now() + HOLD_MS });
      this.#bySource.set(sourceAccount, holds);
      return true;
    };
  }

  #liveHolds(sourceAccount: string): Map<string, Hold> {
    const now = this.#now();
    for (const [source, holds] of this.#bySource) {
      for (const [id, { until }] of holds) if (until <= now) holds.delete(id);
      if (holds.size === 0) this.#bySource.delete(source);
    }
    return this.#bySource.get(sourceAccount) ?? new Map<string, Hold>();
  }
}
