import pLimit, { type LimitFunction } from 'p-limit';
import { messageOf } from '../../domain/errors.ts';

/** Limits for one node. `perSecond`: requests that start within any second. */
export interface RateLimits {
  readonly concurrency: number;
  readonly perSecond: number;
}

/** Class of a request. Sends are repeated until they land, so they get at most half of a node's limits. */
export type Lane = 'read' | 'send';

const TICKET_MS = 1_000;

/** A request waited for the rate limits until its signal aborted. The node did not receive the request. */
export class RateLimitTimeout extends Error {
  override readonly name = 'RateLimitTimeout';

  constructor(cause: unknown) {
    super(`the request was not sent: earlier requests use up the node's rate limits (${messageOf(cause)})`, {
      cause,
    });
  }
}

/** Delays requests to one node so that they stay within its limits. */
export class RateLimiter {
  readonly #node: Limiter;
  readonly #sends: Limiter;

  constructor({ concurrency, perSecond }: RateLimits) {
    this.#node = new Limiter({ concurrency, perSecond });
    this.#sends = new Limiter({ concurrency: halfOf(concurrency), perSecond: halfOf(perSecond) });
  }

  /** Runs `request` when the limits allow it. If `signal` aborts first, throws {@link RateLimitTimeout} instead. */
  pass<T>(signal: AbortSignal, request: () => Promise<T>, lane: Lane = 'read'): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new RateLimitTimeout(signal.reason));
      signal.addEventListener('abort', abort, { once: true });
      const begin = (): Promise<T> => {
        signal.removeEventListener('abort', abort);
        return request();
      };
      const enter = () => this.#node.enter(signal, begin);
      const turn = lane === 'send' ? this.#sends.enter(signal, enter) : enter();
      void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }
}

/** First come, first served. Uses timers instead of the wall clock, so that a clock change cannot delay requests. */
class Limiter {
  readonly #concurrency: LimitFunction;
  readonly #tickets: LimitFunction | null;

  constructor({ concurrency, perSecond }: RateLimits) {
    this.#concurrency = pLimit(concurrency);
    this.#tickets = Number.isFinite(perSecond) ? pLimit(perSecond) : null;
  }

  enter<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return this.#concurrency(async () => {
      if (signal.aborted) throw new RateLimitTimeout(signal.reason);
      await this.#ticket(signal);
      if (signal.aborted) throw new RateLimitTimeout(signal.reason);
      return run();
    });
  }

  // A ticket is returned one second after it was taken, so that no second has more starts than tickets. A cancelled
  // request returns its ticket at once.
  #ticket(signal: AbortSignal): Promise<void> {
    const tickets = this.#tickets;
    if (tickets === null) return Promise.resolve();
    return new Promise((resolve) => {
      void tickets(async () => {
        resolve();
        if (!signal.aborted) await new Promise((release) => setTimeout(release, TICKET_MS));
      });
    });
  }
}

function halfOf(limit: number): number {
  return Math.max(1, Math.floor(limit / 2));
}
