import type { FastifyPluginAsync } from 'fastify';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { isSignature } from '../../solana/rpc/node-text.ts';
import { EXPOSED_HEADERS } from '../formats/payment-required.ts';
import { hasPayment } from '../formats/read-payment.ts';
import type { PassKeys } from '../passes/keys.ts';
import { type ClientNetwork, clientAddress, clientAdvice, limitedAddress } from '../routes/client-address.ts';
import { JWKS_PATH } from '../routes/faults.ts';
import { forwardedHeaders, upstreamRequestHeaders, upstreamResponseHeaders } from '../routes/headers.ts';
import type { FreeRoute, Method, PricedRoute } from '../routes/route.ts';
import { findRoute, pricedOf, type RouteBook } from '../routes/route-book.ts';
import { withRouteHeaders } from '../routes/route-headers.ts';
import { requestHashOf, type Target, upstreamUrl } from '../routes/target.ts';
import { secondsSince } from '../timed.ts';
import { ANY_ORIGIN, type GatewayAnswer, jsonAnswer } from './answers.ts';
import type { Handle, Passage, RawRequest } from './app.ts';
import { callerOf } from './callers.ts';
import type { GatewayMetrics } from './metrics.ts';
import { paidRoute } from './paid-route.ts';
import type { Sale, SaleDeps } from './sale.ts';
import { sell } from './sell.ts';

export interface GatewayDeps extends SaleDeps {
  readonly metrics: Pick<GatewayMetrics, 'count'>;
  /** The routes that are sold now. */
  readonly routes: { readonly book: RouteBook };
  /** Public URL of the gateway, without trailing slash. */
  readonly publicUrl: string;
  readonly passKeys: Pick<PassKeys, 'jwks'>;
  readonly clientNetwork: ClientNetwork;
  /** Environment variables for the headers of routes. */
  readonly upstreamVariables: Readonly<Record<string, string>>;
}

const IDEMPOTENT: readonly Method[] = ['GET', 'PUT', 'DELETE'];
const PREFLIGHT_SECONDS = '600';
const MAX_WARNED_PEERS = 1_000;
/** A new key must be published for this time before it signs. */
const JWKS_HEADERS = { ...ANY_ORIGIN, 'cache-control': 'public, max-age=300' };

/** Handles every request. A priced resource is reachable only through a payment. */
export function gateway(deps: GatewayDeps): Handle {
  const warnOnce = unknownClientWarning(deps);
  return async (request) => {
    const begin = performance.now();
    warnOnce(request);
    if (isForJwks(deps, request)) return jsonAnswer(200, deps.passKeys.jwks, JWKS_HEADERS);
    const { book } = deps.routes;
    const matched = findRoute(book, request.method, request.target, hasPayment(request.headers));
    if (matched.kind === 'route' && matched.route.kind === 'free' && matched.route.upstream !== null) {
      deps.metrics.count(matched.route.id, 'free');
      return passage(deps, matched.route, upstreamUrl(matched.route.upstream, matched.target), request);
    }
    // The body is read even if the response does not depend on it: a client that still sends may not read a response.
    const body = await request.body();
    if (request.method === 'OPTIONS') return preflight(request);
    if (matched.kind === 'refused') {
      deps.metrics.count('none', 'not_found');
      const { status, reason, allow } = matched;
      return jsonAnswer(
        status,
        { error: reason },
        { ...ANY_ORIGIN, ...(allow && { allow: allow.join(', ') }) },
      );
    }
    const { route, target } = matched;
    if (route.kind === 'free') {
      deps.metrics.count(route.id, 'free');
      return staticAnswer(route);
    }
    const received = { ...request, target, body };
    const paid = await paidRoute(deps, book, route, received);
    const matchedSale = await saleIn(deps, book, route, received);
    const sale = paid === route ? matchedSale : await saleIn(deps, book, paid, received);
    return withAnyOrigin(await sellMeasured(deps, sale, matchedSale, begin));
  };
}

/** True for `GET /.well-known/jwks.json`, the public keys of access passes, if a route has any. Source: RFC 7517. */
function isForJwks({ routes }: GatewayDeps, { method, target }: RawRequest): boolean {
  if (method !== 'GET' || target !== JWKS_PATH) return false;
  const { current, former } = routes.book;
  return [...pricedOf(current), ...former].some(({ accessPass }) => accessPass !== null);
}

/** Sells, and counts the answer. `begin`: when the request arrived, a time of `performance.now()`. */
async function sellMeasured(
  deps: GatewayDeps,
  sale: Sale,
  matchedSale: Sale,
  begin: number,
): Promise<GatewayAnswer> {
  const { metrics, observe } = deps;
  try {
    const { label, ...answer } = await sell(deps, sale, matchedSale);
    const { outcome, reason } = label;
    metrics.count(sale.route.id, outcome, reason);
    return outcome === 'served'
      ? { ...answer, onSent: () => observe('answer', secondsSince(begin)) }
      : answer;
  } catch (error) {
    metrics.count(sale.route.id, 'failed');
    throw error;
  }
}

/** Warns once per address about clients that a setting would identify. */
function unknownClientWarning({ clientNetwork, warn }: GatewayDeps): (request: RawRequest) => void {
  const warnedPeers = new Set<string>();
  return ({ peer, headers }) => {
    if (warnedPeers.size >= MAX_WARNED_PEERS || warnedPeers.has(peer)) return;
    const advice = clientAdvice(peer, headers, clientNetwork);
    if (advice === null) return;
    warnedPeers.add(peer);
    warn(null, advice);
  };
}

/** The gateway answers preflights itself, without payment: browsers send them before a payment. */
function preflight({ headers }: RawRequest): GatewayAnswer {
  const requestedHeaders = headers['access-control-request-headers'];
  return {
    status: 204,
    headers: {
      ...ANY_ORIGIN,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        requestedHeaders ??
        'PAYMENT-SIGNATURE, X-PAYMENT, Sluice-Access-Pass, SIGN-IN-WITH-X, Content-Type, Authorization',
      'access-control-max-age': PREFLIGHT_SECONDS,
    },
    body: '',
  };
}

function passage(
  deps: GatewayDeps,
  { upstreamHeaders: routeHeaders }: FreeRoute,
  url: string,
  request: RawRequest,
): Passage {
  const variables = deps.upstreamVariables;
  const own = withRouteHeaders(forwardedRequestHeaders(deps, request, false), { routeHeaders, variables });
  if (!own.ok) throw new DomainError('Unavailable', own.reason);
  return {
    kind: 'passage',
    url,
    requestHeaders: own.headers,
    responseHeaders: upstreamResponseHeaders,
  };
}

function forwardedRequestHeaders(
  { publicUrl, clientNetwork }: GatewayDeps,
  { headers, peer }: Pick<RawRequest, 'headers' | 'peer'>,
  isPaid: boolean,
): Record<string, string> {
  const address = clientAddress(peer, headers, clientNetwork) ?? peer;
  return { ...upstreamRequestHeaders(headers, isPaid), ...forwardedHeaders(address, publicUrl) };
}

function staticAnswer({ answer }: FreeRoute): GatewayAnswer {
  if (answer === null) throw new Error('a free route has neither an upstream nor an answer');
  return { status: answer.status, headers: answer.headers, body: Buffer.from(answer.body, 'base64') };
}

/** A request for a priced route, with its target and its body read. */
interface ClientRequest extends Pick<RawRequest, 'headers' | 'peer'> {
  readonly target: Target;
  readonly body: Uint8Array;
}

/** The sale of the request by a route of the book. */
async function saleIn(
  deps: GatewayDeps,
  { former }: RouteBook,
  route: PricedRoute,
  received: ClientRequest,
): Promise<Sale> {
  const ended = former.includes(route) ? await deps.offers.ended(route.id) : null;
  return { ...saleOf(deps, route, received), ended };
}

function saleOf(
  deps: GatewayDeps,
  route: PricedRoute,
  { target, headers, body, peer }: ClientRequest,
): Omit<Sale, 'ended'> {
  const { publicUrl, clientNetwork } = deps;
  const { method, upstream, upstreamHeaders, description, mimeType, retryUnsafe, timeoutSeconds } = route;
  const request = {
    method,
    url: upstream === null ? '' : upstreamUrl(upstream, target),
    headers: forwardedRequestHeaders(deps, { headers, peer }, true),
    routeHeaders: upstreamHeaders,
    body: Buffer.from(body).toString('base64'),
    isRepeatable: IDEMPOTENT.includes(method) || retryUnsafe,
    timeoutMs: timeoutSeconds * 1000,
  };
  return {
    route,
    resource: { url: `${publicUrl}${target.path}${target.query}`, description, mimeType },
    path: target.path,
    headers,
    requestHash: requestHashOf(route, method, target, body),
    request: upstream === null ? null : request,
    caller: callerOf(headers, clientAddress(peer, headers, clientNetwork)),
    limitedAddress: limitedAddress(peer, headers, clientNetwork.trustedProxies),
  };
}

/** Lets scripts of any origin read terms and responses, unless the upstream sent a CORS origin of its own. */
function withAnyOrigin(answer: GatewayAnswer): GatewayAnswer {
  const exposed = { 'access-control-expose-headers': EXPOSED_HEADERS };
  return { ...answer, headers: { ...ANY_ORIGIN, ...answer.headers, ...exposed } };
}

/**
 * `GET /x402/payments/:signature`: a payment's state, for buyers without an API key. Does not include what was bought.
 */
export function paymentStateRoute({ payments }: Pick<Ledger, 'payments'>): FastifyPluginAsync {
  return async (app) => {
    app.get('/x402/payments/:signature', async (request, reply) => {
      const { signature = '' } = request.params as { signature?: string };
      const payment = isSignature(signature) ? await payments.findByName(signature) : undefined;
      reply.header('cache-control', 'no-store').header('access-control-allow-origin', '*');
      if (payment === undefined)
        return reply.code(404).send({ error: 'there is no payment with this signature' });
      return { signature, state: payment.state };
    });
  };
}
