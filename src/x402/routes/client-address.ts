import ipaddr from 'ipaddr.js';

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Networks of proxies whose forwarding headers are trusted: base address and prefix length. */
export type TrustedProxies = readonly (readonly [IpAddress, number])[];

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip'];

/** Parses IP addresses, and networks such as `10.0.0.0/8`. Throws an Error that names the invalid text. */
export function readProxies(texts: readonly string[]): TrustedProxies {
  return texts.map((text) => {
    const network = ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null;
    if (network !== null) return network;
    const address = readAddress(text);
    if (address === null) throw new Error(`${text} must be an IP address, or a network such as 10.0.0.0/8`);
    return [address, address.kind() === 'ipv4' ? 32 : 128] as const;
  });
}

/**
 * The client's address: the socket's, or behind trusted proxies the last entry of X-Forwarded-For that is not such a
 * proxy. Null if unknown: other senders can forge forwarding headers, and all clients of a proxy share its address.
 */
export function clientAddress(
  peer: string,
  headers: Readonly<Record<string, unknown>>,
  trusted: TrustedProxies,
): string | null {
  const socket = readAddress(peer);
  if (socket === null) return null;
  if (!isTrusted(socket, trusted)) return isForwarded(headers) ? null : socket.toString();
  // A proxy that appends to X-Forwarded-For can forward a `Forwarded` header of the client unchanged.
  if (headers['forwarded'] !== undefined) return null;
  const forwarded = headers['x-forwarded-for'];
  const chain = typeof forwarded === 'string' ? forwarded.split(',') : [];
  for (const text of chain.toReversed()) {
    const address = readAddress(withoutPort(text.trim()));
    if (address === null) return null;
    if (!isTrusted(address, trusted)) return address.toString();
  }
  return null;
}

/** The part of an address that one subscriber has: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function subscriberOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`;
}

/** True if forwarding headers come from an address that is not a trusted proxy. */
export function isUntrustedForwarding(
  peer: string,
  headers: Readonly<Record<string, unknown>>,
  trusted: TrustedProxies,
): boolean {
  const socket = readAddress(peer);
  return isForwarded(headers) && (socket === null || !isTrusted(socket, trusted));
}

function isForwarded(headers: Readonly<Record<string, unknown>>): boolean {
  return FORWARDING_HEADERS.some((name) => headers[name] !== undefined);
}

/** Parses an address; null if it is invalid. Converts an IPv4-mapped IPv6 address to IPv4. */
function readAddress(text: string): IpAddress | null {
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isWhole ? ipaddr.process(text) : null;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const [, ipv6] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text) ?? [];
  const [, ipv4] = /^([\d.]+):\d{1,5}$/.exec(text) ?? [];
  return ipv6 ?? ipv4 ?? text;
}

function isTrusted(address: IpAddress, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}
