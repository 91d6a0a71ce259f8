import ipaddr from 'ipaddr.js';

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Networks of proxies whose forwarding headers are trusted: base address and prefix length. */
export type TrustedProxies = readonly (readonly [IpAddress, number])[];

/** How clients reach the gateway. */
export interface ClientNetwork {
  readonly trustedProxies: TrustedProxies;
  /** True if clients connect without a proxy, so that an address that is not public belongs to one client. */
  readonly directClients: boolean;
}

type ClientHeaders = Readonly<Record<string, unknown>>;

const FORWARDING_HEADERS = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'via',
];

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
 * proxy. Null if unknown: other senders can forge forwarding headers, and all clients of a proxy share its address. An
 * address that is not public may belong to a proxy or a NAT that sends no header.
 */
export function clientAddress(peer: string, headers: ClientHeaders, network: ClientNetwork): string | null {
  const { trustedProxies, directClients } = network;
  const address = forwardedAddress(readAddress(peer), headers, trustedProxies);
  return address !== null && (directClients || isPublic(address)) ? address.toString() : null;
}

/**
 * The address whose requests are limited together: the socket's, or behind trusted proxies the last entry of
 * X-Forwarded-For that is not such a proxy. A client cannot change it, unlike {@link clientAddress}, by other headers.
 */
export function limitedAddress(peer: string, headers: ClientHeaders, trusted: TrustedProxies): string | null {
  const socket = readAddress(peer);
  if (socket === null) return null;
  const address = isTrusted(socket, trusted) ? lastForwarded(headers, trusted) : socket;
  return address?.toString() ?? null;
}

function forwardedAddress(
  socket: IpAddress | null,
  headers: ClientHeaders,
  trusted: TrustedProxies,
): IpAddress | null {
  if (socket === null) return null;
  if (!isTrusted(socket, trusted)) return isForwarded(headers) ? null : socket;
  // A proxy that appends to X-Forwarded-For can forward a `Forwarded` header of the client unchanged.
  return headers['forwarded'] === undefined ? lastForwarded(headers, trusted) : null;
}

function lastForwarded(headers: ClientHeaders, trusted: TrustedProxies): IpAddress | null {
  const forwarded = headers['x-forwarded-for'];
  const chain = typeof forwarded === 'string' ? forwarded.split(',') : [];
  for (const text of chain.toReversed()) {
    const address = readAddress(withoutPort(text.trim()));
    if (address === null || !isTrusted(address, trusted)) return address;
  }
  return null;
}

/** The part of an address that one subscriber has: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function subscriberOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`;
}

/** A sentence that names the setting by which the client becomes known; null if the settings are not the cause. */
export function clientAdvice(peer: string, headers: ClientHeaders, network: ClientNetwork): string | null {
  const { trustedProxies, directClients } = network;
  const socket = readAddress(peer);
  if (socket === null) return null;
  const isProxy = isTrusted(socket, trustedProxies);
  if (isProxy && headers['x-forwarded-for'] === undefined)
    return `${peer} is in SLUICE_X402_TRUSTED_PROXIES but sends no X-Forwarded-For: let it send the header`;
  if (!isProxy && isForwarded(headers))
    return `${peer} sends forwarding headers, which are ignored: add it to SLUICE_X402_TRUSTED_PROXIES if it is your proxy`;
  const address = forwardedAddress(socket, headers, trustedProxies);
  if (address === null || directClients || isPublic(address)) return null;
  return (
    `${address.toString()} is not a public address, so its clients are unknown: if it is your proxy, add it to ` +
    'SLUICE_X402_TRUSTED_PROXIES and let it send X-Forwarded-For; if clients connect directly, set ' +
    'SLUICE_X402_DIRECT_CLIENTS=true'
  );
}

function isForwarded(headers: ClientHeaders): boolean {
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

/** True for the text of an address that belongs to one client, unlike that of a proxy or a private network. */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text);
  return address !== null && isPublic(address);
}

function isPublic(address: IpAddress): boolean {
  return address.range() === 'unicast';
}

function isTrusted(address: IpAddress, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}
