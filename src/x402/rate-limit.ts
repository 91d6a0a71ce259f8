import ipaddr from 'ipaddr.js';

/** Settings of each caller's token bucket: its size is `burst`, and it gets `perSecond` tokens a second. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

const MAX_CALLERS = 10_000;
/** A client has at least such a network of its own, and could use each address in it. */
const IPV6_NETWORK_BITS = 64;

/**
 * Token buckets, one for each caller. The returned function takes one of the caller's tokens and returns 0. If the
 * bucket is empty, it returns the seconds until the next token.
 */
export function rateLimiter({ perSecond, burst }: RateLimit): (caller: string) => number {
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
  return (address) => {
    const client = address === null || !ipaddr.isValid(address) ? null : ipaddr.process(address);
    if (client === null || client.range() !== 'unicast') return 0;
    return takeToken(client instanceof ipaddr.IPv6 ? networkOf(client) : client.toString());
  };
}

function networkOf(address: ipaddr.IPv6): string {
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${IPV6_NETWORK_BITS}`).toString();
}
