import pLimit from 'p-limit';
import type { Payments } from '../../ledger/x402/payments.ts';

const MAX_AT_ONCE = 1_000;
const START_CONCURRENCY = 4;
/** How far the first look goes back. The schedule `restartUnfinished` starts runs of older payments within a minute. */
const FIRST_LOOK_MS = 120_000;

export interface LatePaymentsDeps {
  readonly payments: Pick<Payments, 'listLate'>;
  /** Starts the workflow of a payment, or does nothing if it is running. */
  readonly start: (id: string) => Promise<unknown>;
  readonly latePaymentMs: number;
}

/**
 * Starts the workflow of each payment that has not ended `latePaymentMs` after it was stored, for example because the
 * process that settled or served it has stopped. Judges each payment once, at that age.
 */
export class LatePayments {
  readonly #deps: LatePaymentsDeps;
  /** All payments that were stored up to this time are judged. */
  #judgedTo: Date;

  constructor(deps: LatePaymentsDeps, now = new Date()) {
    this.#deps = deps;
    this.#judgedTo = new Date(now.getTime() - deps.latePaymentMs - FIRST_LOOK_MS);
  }

  /** Rejects if a start fails. The next call then begins with the same payments. */
  async startRuns(now = new Date()): Promise<void> {
    const { payments, start, latePaymentMs } = this.#deps;
    const until = new Date(now.getTime() - latePaymentMs);
    const late = await payments.listLate(this.#judgedTo, until, MAX_AT_ONCE);
    await pLimit(START_CONCURRENCY).map(late, ({ id }) => start(id));
    this.#judgedTo = late.length < MAX_AT_ONCE ? until : (late.at(-1)?.createdAt ?? until);
  }
}
