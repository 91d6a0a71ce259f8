import pLimit, { type LimitFunction } from 'p-limit';

/** How much a node is asked: at most so many requests at once, and so many that start within any second. */
export interface GateOptions {
  readonly concurrency: number;
  readonly perSecond: number;
}

const SECOND_MS = 1_000;

/**
 * Keeps the requests to one node within its limits; the others wait for their turn in the order in which they came.
 * It looks at no clock: one that is set back must not hold up the proofs of a payment.
 */
export class Gate {
  readonly #atOnce: LimitFunction;
  readonly #tickets: LimitFunction | null;

  constructor({ concurrency, perSecond }: GateOptions) {
    this.#atOnce = pLimit(concurrency);
    this.#tickets = Number.isFinite(perSecond) ? pLimit(perSecond) : null;
  }

  /** Runs `request` when it is its turn. Rejects with the signal's reason when that is aborted before, and then never runs it. */
  pass<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      const turn = this.#atOnce(async () => {
        await this.#ticket();
        signal.throwIfAborted();
        return request();
      });
      void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }

  // A ticket is free again a second after it was taken: no second sees more starts than there are tickets.
  #ticket(): Promise<void> {
    const tickets = this.#tickets;
    if (tickets === null) return Promise.resolve();
    return new Promise((taken) => {
      void tickets(() => {
        taken();
        return new Promise((free) => setTimeout(free, SECOND_MS));
      });
    });
  }
}
