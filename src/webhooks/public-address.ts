import ipaddr from 'ipaddr.js';

/**
 * Public addresses at which virtual machines reach services of their cloud host: only Azure's host agent. Other clouds
 * use non-public ranges.
 */
const CLOUD_HOST_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * True for a public IP address: globally routed unicast, in neither IANA special-purpose registry. Excludes
 * translators and tunnels (NAT64, 6to4, Teredo) and cloud host services. An IPv4-mapped IPv6 address is
 * judged as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast' || CLOUD_HOST_ADDRESSES.has(parsed.toString())) return false;
  // All allocated global unicast IPv6 addresses are in 2000::/3, but ipaddr.js reports `unicast` for other ranges too.
  return parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] ?? 0) >> 5 === 1;
}

/** Why the URL is not allowed; null if it is. Host names are not resolved here: the sender checks their addresses. */
export function faultOfUrl(url: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(url)) return 'must be a URL';
  const { protocol, username, password, hostname, hash } = new URL(url);
  if (allowPrivate && protocol !== 'https:' && protocol !== 'http:') return 'must be an http or https URL';
  if (!allowPrivate && protocol !== 'https:') return 'must be an https URL';
  if (username !== '' || password !== '') return 'must not contain a user or password';
  if (hash !== '') return 'must not contain a fragment';
  const address = addressIn(hostname);
  if (allowPrivate || address === null || isPublicAddress(address)) return null;
  return `must not be the address ${address}, which is not public`;
}

/** The IP address in a URL's host; null for a name. */
function addressIn(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : null;
}
