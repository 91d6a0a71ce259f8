type Headers = Readonly<Record<string, unknown>>;

/** Of one connection only. Source: RFC 9110 7.6.1. */
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

/** Headers by which some servers replace the method or the target of a request. Only the gateway decides both. */
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

/** Headers that no upstream gets from a client. The sender of the body adds its length. */
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
/** On a priced route the answer is the whole resource in plain form: the gateway stores it and gives it again. */
const NEVER_ASKED_PAID: ReadonlySet<string> = new Set([
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'accept-encoding',
]);
/** Headers that only the gateway may send to a buyer. `alt-svc` would send clients past the gateway. */
const NEVER_ANSWERED: ReadonlySet<string> = new Set([
  'x-payment',
  'x-payment-response',
  'extension-responses',
  'settlement-overrides',
  'content-length',
  'alt-svc',
]);
/** Shared caches obey these before Cache-Control. */
const OF_SHARED_CACHES = /^(.*-cache-control|edge-control|surrogate-control|x-accel-.*)$/;

/** The headers that the upstream gets of those that the client has sent. */
export function askedHeaders(headers: Headers, isPaid: boolean): Record<string, string> {
  const asked: Record<string, string> = {};
  for (const [name, value] of passing(headers)) {
    // CGI and its heirs read `_` and `-` in names as the same.
    const plain = name.replaceAll('_', '-');
    const isOfGateway = plain.startsWith('x-sluice-') || plain.startsWith('x-forwarded-');
    const isDropped = isOfGateway || NEVER_ASKED.has(plain) || HOP_BY_HOP.has(plain);
    if (isDropped || (isPaid && NEVER_ASKED_PAID.has(plain))) continue;
    asked[name] = Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : String(value);
  }
  return asked;
}

/** What the gateway tells the upstream of a request that is paid: the same for each try. */
export function paymentHeaders(paymentId: string): Record<string, string> {
  return { 'idempotency-key': paymentId, 'x-sluice-payment': paymentId };
}

/** The headers of the upstream's answer that the buyer gets. */
export function answerHeaders(headers: Headers): Record<string, string | string[]> {
  const answered: Record<string, string | string[]> = {};
  for (const [name, value] of passing(headers)) {
    const isOfGateway = name.startsWith('x-sluice-') || name.startsWith('payment-');
    if (isOfGateway || NEVER_ANSWERED.has(name)) continue;
    answered[name] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return answered;
}

/** The same headers on an answer that was paid: no shared cache may give it to somebody else. */
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
