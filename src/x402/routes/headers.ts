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

/** Headers with which some servers override the method or target of a request. Only the gateway determines these. */
const REPLACING = [
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
  'forwarded',
];

/** Client headers that are never forwarded. The content length is computed from the body. */
const NEVER_ASKED: ReadonlySet<string> = new Set([
  ...REPLACING,
  'x-payment',
  'payment-signature',
  'sign-in-with-x',
  'idempotency-key',
  'content-length',
  'expect',
  'host',
  'access-control-expose-headers',
]);
/** On a priced route the response must be the whole, unencoded resource: the gateway stores it and sends it again. */
const NEVER_ASKED_PAID: ReadonlySet<string> = new Set([
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'accept-encoding',
]);
/** Headers that only the gateway may send to a buyer. `alt-svc` would direct clients past the gateway. */
const NEVER_ANSWERED: ReadonlySet<string> = new Set([
  'x-payment',
  'x-payment-response',
  'extension-responses',
  'settlement-overrides',
  'content-length',
  'alt-svc',
]);
/** Shared caches prefer these to Cache-Control. */
const OF_SHARED_CACHES = /^(.*-cache-control|edge-control|surrogate-control|x-accel-.*)$/;

export function askedHeaders(headers: Headers, isPaid: boolean): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of passing(headers)) {
    // CGI and similar servers treat `_` and `-` in names as equal.
    const plain = name.replaceAll('_', '-');
    const isOfGateway = plain.startsWith('x-sluice-') || plain.startsWith('x-forwarded-');
    const isDropped = isOfGateway || NEVER_ASKED.has(plain) || HOP_BY_HOP.has(plain);
    if (isDropped || (isPaid && NEVER_ASKED_PAID.has(plain))) continue;
    forwarded[name] = Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : String(value);
  }
  return forwarded;
}

/** Headers that identify a paid request to the upstream, equal for each try. */
export function paymentHeaders(paymentId: string): Record<string, string> {
  return { 'idempotency-key': paymentId, 'x-sluice-payment': paymentId };
}

export function answerHeaders(headers: Headers): Record<string, string | string[]> {
  const answered: Record<string, string | string[]> = {};
  for (const [name, value] of passing(headers)) {
    const isOfGateway = name.startsWith('x-sluice-') || name.startsWith('payment-');
    if (isOfGateway || NEVER_ANSWERED.has(name)) continue;
    answered[name] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return answered;
}

/** Headers of a paid response: no shared cache may store it. */
export function paidHeaders<Value extends string | readonly string[]>(
  headers: Readonly<Record<string, Value>>,
): Record<string, Value | string> {
  const kept = Object.entries(headers).filter(([name]) => !OF_SHARED_CACHES.test(name));
  const control = String(headers['cache-control'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !/^(public|private|s-maxage)\s*(=|$)/i.test(one));
  return { ...Object.fromEntries(kept), 'cache-control': ['private', ...control].join(', ') };
}

function passing(headers: Headers): readonly (readonly [string, unknown])[] {
  const ofConnection = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'connection');
  const named = ofConnection
    .flatMap(([, value]) => String(value).toLowerCase().split(','))
    .map((name) => name.trim());
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name, value]) => value !== undefined && !HOP_BY_HOP.has(name) && !named.includes(name));
}
