/** A token bucket for each caller: `burst` requests at once, then `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const MAX_CALLERS = 10_000;

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #now: () => number;
  /** Ordered by last use, newest last. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Takes one token. Returns 0, or without a token the seconds until the next one. */
  take(caller: string): number {
    const { perSecond, burst } = this.#limit;
    const now = this.#now();
    const { tokens, at } = this.#buckets.get(caller) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) / 1_000) * perSecond);
    const isAllowed = filled >= 1;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > MAX_CALLERS && oldest !== undefined) this.#buckets.delete(oldest);
    return isAllowed ? 0 : Math.ceil((1 - filled) / perSecond);
  }
}
