import { createHmac } from 'node:crypto';
import type { ObserveStage } from '../domain/payment-stages.ts';
import type { BoughtRequest } from '../ledger/x402/obligations.ts';
import type { PaymentRow } from '../ledger/x402/payments.ts';
import { paymentHeaders } from './routes/headers.ts';
import { type RouteHeaders, withRouteHeaders } from './routes/route-headers.ts';
import { timed } from './timed.ts';
import { askUpstream, type UpstreamAnswer, type UpstreamOptions } from './upstream.ts';

/** A request for which a payment pays. */
export interface PaidRequest {
  readonly request: BoughtRequest;
  readonly payment: Pick<PaymentRow, 'id' | 'payer' | 'route' | 'terms'>;
  /** False if the upstream is called before the settlement. */
  readonly isPaid: boolean;
  /** Id of one request that an access pass of the payment bought. Not set: the request is the paid one. */
  readonly passUse?: string;
}

/** Calls the upstream once for a payment. Never throws. */
export type UpstreamCall = (paid: PaidRequest, options: UpstreamOptions) => Promise<UpstreamAnswer>;

interface UpstreamCallDeps {
  readonly variables: RouteHeaders['variables'];
  /** Signs Sluice-Payment. Null: the header is not sent. */
  readonly secret: string | null;
  readonly observe: ObserveStage;
}

/** A request whose price the upstream sets. */
interface PriceRequest {
  readonly request: BoughtRequest;
  /** Null: a HEAD request to the upstream. */
  readonly priceUrl: string | null;
  /** URL of the request at the gateway. */
  readonly publicUrl: string;
}

/** Asks for the price of a request. Follows no redirect. Never throws. */
export type PriceCall = (priceRequest: PriceRequest) => Promise<UpstreamAnswer>;

const PRICE_BOUNDS: UpstreamOptions = { timeoutMs: 5_000, maxBytes: 16 * 1024, isStreamed: false };
/** Headers of the gateway itself. Those of the buyer are not sent, because the quote does not depend on them. */
const FORWARDED_WITH_PRICE = ['x-forwarded-proto', 'x-forwarded-host'];

/** Time that an upstream has to accept the header Sluice-Payment. */
const TOKEN_VALID_SECONDS = 300;

/**
 * Adds the headers of the route and those of the payment. Every try has the same Idempotency-Key, so that the upstream
 * can detect repetitions. Each request that an access pass bought has its own.
 */
export function createUpstreamCall({ variables, secret, observe }: UpstreamCallDeps): UpstreamCall {
  return async (paid, options) => {
    const { method, url, headers, body, routeHeaders } = paid.request;
    const own = withRouteHeaders(headers, { routeHeaders, variables });
    if (!own.ok) return { kind: 'none', reason: own.reason };
    const token = secret === null ? {} : { 'sluice-payment': paymentToken(paid, secret, Date.now()) };
    const all = { ...own.headers, ...paymentHeaders(paid.payment.id, paid.passUse), ...token };
    const bytes = Buffer.from(body, 'base64');
    return timed(observe, 'upstream', () => askUpstream({ method, url, headers: all, body: bytes }, options));
  };
}

/**
 * Sends a HEAD request to the upstream's URL of the request, or a POST with the request as JSON to the price URL. Adds the
 * headers of the route, except to a price URL of another origin: they can be credentials of the upstream.
 */
export function createPriceCall({ variables }: Pick<UpstreamCallDeps, 'variables'>): PriceCall {
  return async ({ request, priceUrl, publicUrl }) => {
    const { method, url, headers: buyerHeaders, body } = request;
    const isOtherOrigin = priceUrl !== null && new URL(priceUrl).origin !== new URL(url).origin;
    const routeHeaders = isOtherOrigin ? {} : request.routeHeaders;
    const forwarded = Object.entries(buyerHeaders).filter(([name]) => FORWARDED_WITH_PRICE.includes(name));
    const withMethod = { ...Object.fromEntries(forwarded), 'sluice-method': method };
    const own = withRouteHeaders(withMethod, { routeHeaders, variables });
    if (!own.ok) return { kind: 'none', reason: own.reason };
    const { headers } = own;
    if (priceUrl === null) return askUpstream({ method: 'HEAD', url, headers, body: NO_BODY }, PRICE_BOUNDS);
    const json = Buffer.from(JSON.stringify({ method, url: publicUrl, body }), 'utf8');
    const post = {
      method: 'POST',
      url: priceUrl,
      headers: { ...headers, 'content-type': 'application/json' },
    };
    return askUpstream({ ...post, body: json }, PRICE_BOUNDS);
  };
}

const NO_BODY = new Uint8Array();

/** A compact JWS (HS256) that says what was paid, by which wallet, and for which request. Source: RFC 7515. */
export function paymentToken(
  { request, payment, isPaid, passUse }: PaidRequest,
  secret: string,
  nowMs: number,
): string {
  const { id, payer, route, terms } = payment;
  const { amount, asset, network, payTo } = terms;
  const { method, url } = request;
  const iat = Math.floor(nowMs / 1000);
  const byPass = passUse === undefined ? {} : { accessPass: true };
  const times = { iss: 'sluice', sub: id, iat, exp: iat + TOKEN_VALID_SECONDS };
  const claims = {
    ...times,
    paid: isPaid,
    ...byPass,
    payer,
    amount,
    asset,
    network,
    payTo,
    route,
    method,
    url,
  };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
