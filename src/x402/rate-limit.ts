import { isPublicAddress, subscriberOf } from './routes/client-address.ts';

/** Settings of each caller's token bucket: its size is `burst`, and it gets `perSecond` tokens a second. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

const MAX_CALLERS = 10_000;

/**
 * Token buckets, one for each caller. The returned function takes one of the caller's tokens and returns 0. If the
 * bucket is empty, it returns the seconds until the next token.
 */
export function rateLimiter(limit: RateLimit, factor = 1): (caller: string) => number {
  const [perSecond, burst] = [limit.perSecond * factor, limit.burst * factor];
  /** Ordered by last use: the first one is evicted at the limit. */
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (caller) => {
    const now = performance.now();
    const { tokens, at } = buckets.get(caller) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) / 1_000) * perSecond);
    const isAllowed = filled >= 1;
    buckets.delete(caller);
    buckets.set(caller, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_CALLERS && oldest !== undefined) buckets.delete(oldest);
    return isAllowed ? 0 : Math.ceil((1 - filled) / perSecond);
  };
}

/**
 * Limits the requests of each client address, as {@link rateLimiter} does. Null and addresses that are not public have
 * no limit: all clients of a proxy can have such an address.
 */
export function addressLimiter(limit: RateLimit): (address: string | null) => number {
  const takeToken = rateLimiter(limit);
  return (address) => (address === null || !isPublicAddress(address) ? 0 : takeToken(subscriberOf(address)));
}
