import ipaddr from 'ipaddr.js';

/**
 * Host services of clouds that answer inside a virtual machine at an address of the public ranges: Azure's agent of the host. Those of
 * the others are link-local, unique-local or carrier-grade NAT.
 */
const OF_CLOUDS: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * True for an IP address of the public Internet: a globally routed unicast address of neither special-purpose registry of IANA, and none
 * by which a translator or tunnel reaches another one (NAT64, 6to4, Teredo), or a cloud its own machines. An IPv4-mapped IPv6 address
 * is judged as the IPv4 address that it is.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const read = ipaddr.process(address);
  if (read.range() !== 'unicast' || OF_CLOUDS.has(read.toString())) return false;
  // All that is global so far is 2000::/3; ::a.b.c.d and whatever else is outside of it is not.
  return read.kind() === 'ipv4' || (read.toByteArray()[0] ?? 0) >> 5 === 1;
}

/** Why nothing may be sent to `url`; null where it may, as far as its text tells: a name is judged when it is resolved. */
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

/** The IP address that a hostname of a URL is; null for a name. */
function literalOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : null;
}
