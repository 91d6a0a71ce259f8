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

/** Longer than the time from the simulation to the row of the payment. From then on, the row counts instead. */
const HOLD_MS = 10_000;

/**
 * Keeps the payments of a token account, which this process admits at the same time, within the account's balance. Each
 * payment counts those that were held before it, and the rows that are stored before its own simulation. So a payment
 * counts that is neither stored nor on chain yet. Two processes at once can each admit a payment out of one balance;
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
   * Holds the amount of a payment, to be called before its simulation. The returned function gets the balance that the
   * simulation leaves, and returns whether that covers the other payments. If it does not, the hold is released; so
   * does `release`.
   */
  async hold({ id, sourceAccount, amount }: HeldPayment): Promise<{
    readonly covers: (leftUnits: bigint) => boolean;
    readonly release: () => void;
  }> {
    const holds = this.#liveHolds(sourceAccount);
    const held = new Map([...holds].map(([other, hold]) => [other, hold.amount] as const));
    const own: Hold = { amount, until: this.#now() + HOLD_MS };
    holds.set(id, own);
    this.#bySource.set(sourceAccount, holds);
    const release = () => this.#release(sourceAccount, id, own);
    try {
      const claimed = claimedUnits(id, await this.#paymentsOf(sourceAccount, [...held.keys()]), held);
      const covers = (leftUnits: bigint) => {
        if (claimed <= leftUnits) return true;
        release();
        return false;
      };
      return { covers, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #liveHolds(sourceAccount: string): Map<string, Hold> {
    const now = this.#now();
    for (const [source, holds] of this.#bySource) {
      for (const [id, { until }] of holds) if (until <= now) holds.delete(id);
      if (holds.size === 0) this.#bySource.delete(source);
    }
    return this.#bySource.get(sourceAccount) ?? new Map<string, Hold>();
  }

  #release(sourceAccount: string, id: string, own: Hold): void {
    const holds = this.#bySource.get(sourceAccount);
    if (holds?.get(id) === own) holds.delete(id);
  }
}
