import ipaddr from 'ipaddr.js';

/** Ranges that are not routed publicly: RFC 1918, the loopback of each family, and fc00::/7. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback', 'uniqueLocal']);

/**
 * True if a URL's hostname is an IP address of a private network or this machine; IPv4-mapped IPv6 counts as IPv4.
 * Other addresses and all names are refused, because callers may then send without encryption.
 */
export function isPrivateAddress(hostname: string): boolean {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) && PRIVATE.has(ipaddr.process(bare).range());
}
