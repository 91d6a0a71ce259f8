import ipaddr from 'ipaddr.js';

/** Ranges that no public network routes: RFC 1918, the loopback of each family, and fc00::/7. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback', 'uniqueLocal']);

/**
 * True where the hostname of a URL is an IP address of a private network or of this machine. An IPv4-mapped IPv6 address is judged as
 * the IPv4 address that it is. Every other address, and every name, is refused: what follows may be sent without encryption.
 */
export function isPrivateAddress(hostname: string): boolean {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) && PRIVATE.has(ipaddr.process(bare).range());
}
