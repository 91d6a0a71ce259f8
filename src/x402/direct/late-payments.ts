import pLimit from 'p-limit';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { Payments } from '../../ledger/x402/payments.ts';

const MAX_AT_ONCE = 1_000;
const START_CONCURRENCY = 4;
/** How far the first look goes back. The schedule `restartUnfinished` starts runs of older payments within a minute. */
const FIRST_LOOK_MS = 120_000;

/**
 * Starts the workflow of each payment that has not ended `latePaymentMs` after it was stored, for example because the
 * process that settled or served it has stopped. It judges each payment once, at that age.
 */
export class LatePayments {
  readonly #payments: Pick<Payments, 'listLate'>;
  readonly #start: (id: string) => Promise<unknown>;
  /** All payments that were stored up to this time are judged. */
  #judgedTo: Date;

  /** `start`: starts the workflow of a payment, or does nothing if it is running. */
  constructor(
    payments: Pick<Payments, 'listLate'>,
    start: (id: string) => Promise<unknown>,
    now = new Date(),
  ) {
    this.#payments = payments;
    this.#start = start;
    this.#judgedTo = new Date(now.getTime() - TIMEOUTS.latePaymentMs - FIRST_LOOK_MS);
  }

  /** Rejects if a start fails. The next call then begins with the same payments. */
  async startRuns(now = new Date()): Promise<void> {
    const until = new Date(now.getTime() - TIMEOUTS.latePaymentMs);
    const late = await this.#payments.listLate(this.#judgedTo, until, MAX_AT_ONCE);
    await pLimit(START_CONCURRENCY).map(late, ({ id }) => this.#start(id));
    this.#judgedTo = late.length < MAX_AT_ONCE ? until : (late.at(-1)?.createdAt ?? until);
  }
}
