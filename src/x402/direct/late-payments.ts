import pLimit from 'p-limit';
import type { Payments } from '../../ledger/x402/payments.ts';

const START_CONCURRENCY = 4;
/** How far the first look goes back. The schedule `restartUnfinished` starts runs of older payments within a minute. */
const FIRST_LOOK_MS = 120_000;
/** For transactions that commit after others that began later. */
const OVERLAP_MS = 5_000;

export interface LatePaymentsDeps {
  readonly payments: Pick<Payments, 'listLate'>;
  /** Starts the workflow of a payment, or does nothing if it is running. */
  readonly start: (id: string) => Promise<unknown>;
  readonly latePaymentMs: number;
}

/**
 * Starts the workflow of each payment that has not ended `latePaymentMs` after it was stored, for example because the
 * process that settled or served it has stopped. Looks at each payment a few times, at about that age.
 */
export class LatePayments {
  readonly #deps: LatePaymentsDeps;
  /** Start of the last look that succeeded, on the clock of `performance.now()`. */
  #lookedAt = performance.now() - FIRST_LOOK_MS;

  constructor(deps: LatePaymentsDeps) {
    this.#deps = deps;
  }

  /** Rejects if a start fails. The next call then looks at the same payments, too. */
  async startRuns(): Promise<void> {
    const { payments, start, latePaymentMs } = this.#deps;
    const now = performance.now();
    const oldestMs = latePaymentMs + (now - this.#lookedAt) + OVERLAP_MS;
    const late = await payments.listLate(latePaymentMs, oldestMs);
    await pLimit(START_CONCURRENCY).map(late, (id) => start(id));
    this.#lookedAt = now;
  }
}
