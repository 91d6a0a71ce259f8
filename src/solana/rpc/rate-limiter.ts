import pLimit, { type LimitFunction } from 'p-limit';
import { messageOf } from '../../domain/errors.ts';

/** Limits for one node: concurrent requests, and requests that start within any second. */
export interface RateLimits {
  readonly concurrency: number;
  readonly perSecond: number;
}

/** Sends repeat until a landing is known. They get half of a node at most, because status requests need the rest. */
export type Lane = 'read' | 'send';

const TICKET_MS = 1_000;

/** Our own limits delayed a request until its caller cancelled it. The node did not receive it. */
export class RateLimitTimeout extends Error {
  override readonly name = 'RateLimitTimeout';

  constructor(cause: unknown) {
    super(`did not receive the request: earlier requests use up its rate limits (${messageOf(cause)})`, {
      cause,
    });
  }
}

/** Keeps the requests to one node within its limits; other requests wait for their turn. */
export class RateLimiter {
  readonly #node: Limiter;
  readonly #sends: Limiter;

  constructor({ concurrency, perSecond }: RateLimits) {
    this.#node = new Limiter({ concurrency, perSecond });
    this.#sends = new Limiter({ concurrency: halfOf(concurrency), perSecond: halfOf(perSecond) });
  }

  /** Runs `request` in its turn. Throws {@link RateLimitTimeout}, and never runs it, if the signal aborts before. */
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

/** First come, first served. It reads no wall clock: setting the clock back must not delay proofs of a payment. */
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

  // A ticket is free again one second after it was taken, so no second has more starts than tickets. A cancelled
  // request keeps no ticket.
  #ticket(signal: AbortSignal): Promise<void> {
    const tickets = this.#tickets;
    if (tickets === null) return Promise.resolve();
    return new Promise((taken) => {
      void tickets(async () => {
        taken();
        if (!signal.aborted) await new Promise((free) => setTimeout(free, TICKET_MS));
      });
    });
  }
}

function halfOf(limit: number): number {
  return Math.max(1, Math.floor(limit / 2));
}
