import ipaddr from 'ipaddr.js';

/**
 * Cloud host services that virtual machines reach at a public address: Azure's host agent. Other clouds use
 * non-public ranges.
 */
const OF_CLOUDS: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * True for a public IP address: globally routed unicast, in neither IANA special-purpose registry. Excludes
 * translators and tunnels (NAT64, 6to4, Teredo) and cloud host services. An IPv4-mapped IPv6 address is
 * judged as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const read = ipaddr.process(address);
  if (read.range() !== 'unicast' || OF_CLOUDS.has(read.toString())) return false;
  // All global unicast IPv6 so far is in 2000::/3; ::a.b.c.d and other ranges are not.
  return read.kind() === 'ipv4' || (read.toByteArray()[0] ?? 0) >> 5 === 1;
}

/** Why the URL is not allowed, or null. Only its text is checked: a host name is checked when it is resolved. */
export function faultOfUrl(url: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(url)) return 'must be a URL';
  const { protocol, username, password, hostname, hash } = new URL(url);
  if (allowPrivate && protocol !== 'https:' && protocol !== 'http:') return 'must be an http or https URL';
  if (!allowPrivate && protocol !== 'https:') return 'must be an https URL';
  if (username !== '' || password !== '') return 'must not carry a user or password';
  if (hash !== '') return 'must not carry a fragment';
  const literal = literalOf(hostname);
  if (allowPrivate || literal === null || isPublicAddress(literal)) return null;
  return `must not be the address ${literal}, which is not public`;
}

/** The IP address in a URL's host; null for a name. */
function literalOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : null;
}
