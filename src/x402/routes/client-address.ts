import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Proxies whose forwarding headers are believed: addresses, or networks such as `10.0.0.0/8`. */
export type TrustedProxies = readonly (readonly [Address, number])[];

const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-real-ip'];

/** Reads addresses and networks. Throws an Error that names the text which is neither. */
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
 * The address of the client: that of the socket; or behind trusted proxies the last one of X-Forwarded-For that is no such proxy. Null
 * where it is unknown: forwarding headers from any other address may be invented, and the address of a proxy is that of all its clients.
 */
export function clientAddress(
  peer: string,
  headers: Readonly<Record<string, unknown>>,
  trusted: TrustedProxies,
): string | null {
  const socket = readAddress(peer);
  if (socket === null) return null;
  if (!isTrusted(socket, trusted)) return isForwarded(headers) ? null : socket.toString();
  // A proxy that appends to the one header may pass the other on as the client has sent it: they could disagree.
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

/** True if forwarding headers come from an address that is not a trusted proxy: worth a line in the log. */
export function isUntrustedForwarding(
  peer: string,
  headers: Readonly<Record<string, unknown>>,
  trusted: TrustedProxies,
): boolean {
  const socket = readAddress(peer);
  return isForwarded(headers) && (socket === null || !isTrusted(socket, trusted));
}

function isForwarded(headers: Readonly<Record<string, unknown>>): boolean {
  return FORWARDING.some((name) => headers[name] !== undefined);
}

/** An IPv4-mapped IPv6 address is the IPv4 address that it maps. */
function readAddress(text: string): Address | null {
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isWhole ? ipaddr.process(text) : null;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text) ?? [];
  const [, bare] = /^([\d.]+):\d{1,5}$/.exec(text) ?? [];
  return bracketed ?? bare ?? text;
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}
