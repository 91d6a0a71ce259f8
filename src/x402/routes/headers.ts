import { hasBearerPass } from '../passes/presented.ts';

type Headers = Readonly<Record<string, unknown>>;

/** Hop-by-hop headers. Source: RFC 9110 7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Headers with which some servers override the method, target, client or user of a request. Clients must not set these. */
const OVERRIDE_HEADERS = [
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-method',
  'x-original-url',
  'x-original-uri',
  'x-original-host',
  'x-rewrite-url',
  'x-host',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'fastly-client-ip',
  'remote-user',
  'x-remote-user',
  'x-forwarded',
  'forwarded',
];

/** Headers by which the upstream trusts the gateway. */
const OF_GATEWAY = /^(x-)?sluice-/;

/** Client headers that are never forwarded. The content length is computed from the body. */
const NEVER_FORWARDED: ReadonlySet<string> = new Set([
  ...OVERRIDE_HEADERS,
  'x-payment',
  'payment-signature',
  'sign-in-with-x',
  'idempotency-key',
  'content-length',
  'expect',
  'host',
  'access-control-expose-headers',
]);
/**
 * Not forwarded on priced routes: the response must be the whole, unencoded resource, which the gateway may send again.
 */
const NEVER_FORWARDED_PAID: ReadonlySet<string> = new Set([
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'accept-encoding',
]);
/** Headers that only the gateway may send to a buyer. `alt-svc` would direct clients past the gateway. */
const NEVER_RETURNED: ReadonlySet<string> = new Set([
  'x-payment',
  'x-payment-response',
  'extension-responses',
  'settlement-overrides',
  'content-length',
  'alt-svc',
  // A proxy before the gateway would serve a file of its own in place of the answer.
  'x-accel-redirect',
  'x-sendfile',
  'x-lighttpd-send-file',
]);
/** Headers that shared caches prefer to Cache-Control. */
const SHARED_CACHE_HEADER = /^(.*-cache-control|edge-control|surrogate-control|x-accel-.*)$/;

/** The client headers that the gateway forwards to the upstream, with names in lower case. */
export function upstreamRequestHeaders(headers: Headers, isPaid: boolean): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of endToEndHeaders(headers)) {
    // CGI and similar servers treat `_` and `-` in header names as equal.
    const dashedName = name.replaceAll('_', '-');
    const isOfGateway = OF_GATEWAY.test(dashedName) || dashedName.startsWith('x-forwarded-');
    const isDropped = isOfGateway || NEVER_FORWARDED.has(dashedName) || HOP_BY_HOP.has(dashedName);
    if (dashedName === 'authorization' && hasBearerPass(value)) continue;
    if (isDropped || (isPaid && NEVER_FORWARDED_PAID.has(dashedName))) continue;
    forwarded[name] = Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : String(value);
  }
  return forwarded;
}

/** Headers with the client's address, and the public scheme and host of the gateway. */
export function forwardedHeaders(address: string, publicUrl: string): Record<string, string> {
  const { protocol, host } = new URL(publicUrl);
  return {
    'x-forwarded-for': address,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-forwarded-host': host,
  };
}

/** Headers by which the upstream can recognize a repeated request: they are equal for every try of one request. */
export function paymentHeaders(paymentId: string, requestId = paymentId): Record<string, string> {
  return { 'idempotency-key': requestId, 'x-sluice-payment': paymentId };
}

/** The upstream headers that the gateway forwards to the client, with names in lower case. */
export function upstreamResponseHeaders(headers: Headers): Record<string, string | string[]> {
  const returned: Record<string, string | string[]> = {};
  for (const [name, value] of endToEndHeaders(headers)) {
    const isOfGateway = OF_GATEWAY.test(name) || name.startsWith('payment-');
    if (isOfGateway || NEVER_RETURNED.has(name)) continue;
    returned[name] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return returned;
}

/** Headers of a paid response, changed so that no shared cache stores it. */
export function paidResponseHeaders<Value extends string | readonly string[]>(
  headers: Readonly<Record<string, Value>>,
): Record<string, Value | string> {
  const otherHeaders = Object.entries(headers).filter(([name]) => !SHARED_CACHE_HEADER.test(name));
  const directives = String(headers['cache-control'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !/^(public|private|s-maxage)\s*(=|$)/i.test(one));
  return { ...Object.fromEntries(otherHeaders), 'cache-control': ['private', ...directives].join(', ') };
}

function endToEndHeaders(headers: Headers): readonly (readonly [string, unknown])[] {
  const connectionHeaders = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'connection');
  const connectionNames = connectionHeaders
    .flatMap(([, value]) => String(value).toLowerCase().split(','))
    .map((name) => name.trim());
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(
      ([name, value]) => value !== undefined && !HOP_BY_HOP.has(name) && !connectionNames.includes(name),
    );
}
