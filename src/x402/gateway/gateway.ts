import { EXPOSED_HEADERS } from '../dialects/payment-required.ts';
import { clientAddress, isUntrustedForwarding, type TrustedProxies } from '../routes/client-address.ts';
import { answerHeaders, askedHeaders } from '../routes/headers.ts';
import type { FreeRoute, Method, PricedRoute, Route } from '../routes/route.ts';
import { matchRoute, requestHashOf, type Target, upstreamUrl } from '../routes/target.ts';
import { ANY_ORIGIN, type GatewayAnswer, json, withHeaders } from './answer.ts';
import type { Handle, Passage, RawRequest } from './app.ts';
import { callerOf } from './callers.ts';
import type { Sale, SaleDeps } from './sale.ts';
import { sell } from './sell.ts';

export interface GatewayDeps extends SaleDeps {
  readonly routes: readonly Route[];
  /** What buyers call the gateway, without a slash at its end. */
  readonly publicUrl: string;
  readonly trustedProxies: TrustedProxies;
}

const IDEMPOTENT: readonly Method[] = ['GET', 'PUT', 'DELETE'];
const PREFLIGHT_SECONDS = '600';
const MOST_TOLD = 1_000;

/** What the gateway does with a request: nothing that is priced is reached but through a payment. */
export function gateway(deps: GatewayDeps): Handle {
  const tell = untrustedTeller(deps);
  return async (request) => {
    tell(request);
    if (request.method === 'OPTIONS') return preflight(request);
    const matched = matchRoute(deps.routes, request.method, request.target);
    if (matched.kind === 'refused') {
      const { status, why, allow } = matched;
      return json(
        status,
        { error: why },
        { ...ANY_ORIGIN, ...(allow === undefined ? {} : { allow: [...allow].join(', ') }) },
      );
    }
    const { route, target } = matched;
    if (route.kind === 'free') return free(route, target, request);
    return withAnyOrigin(await sell(deps, saleOf(deps, route, target, request)));
  };
}

/** Says once for each address that its forwarding headers are not believed: a proxy that is not listed makes every client unknown. */
function untrustedTeller({ trustedProxies, warn }: GatewayDeps): (request: RawRequest) => void {
  const told = new Set<string>();
  return ({ peer, headers }) => {
    if (told.size >= MOST_TOLD || told.has(peer)) return;
    if (!isUntrustedForwarding(peer, headers, trustedProxies)) return;
    told.add(peer);
    warn(
      null,
      `${peer} sends forwarding headers and is not in SLUICE_X402_TRUSTED_PROXIES: its clients are unknown`,
    );
  };
}

/** Answered without a payment and without the upstream: a browser asks before it may send a payment. */
function preflight({ headers }: RawRequest): GatewayAnswer {
  const asked = headers['access-control-request-headers'];
  return {
    status: 204,
    headers: {
      ...ANY_ORIGIN,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': asked ?? 'PAYMENT-SIGNATURE, X-PAYMENT, Content-Type, Authorization',
      'access-control-max-age': PREFLIGHT_SECONDS,
    },
    body: '',
  };
}

function free(
  { upstream, answer }: FreeRoute,
  target: Target,
  { headers }: RawRequest,
): GatewayAnswer | Passage {
  if (answer !== null) {
    const { status, headers: own, body } = answer;
    return { status, headers: own, body: Buffer.from(body, 'base64') };
  }
  return {
    kind: 'passage',
    url: upstreamUrl(upstream ?? '', target),
    requestHeaders: askedHeaders(headers, false),
    responseHeaders: answerHeaders,
  };
}

function saleOf(
  { publicUrl, trustedProxies }: GatewayDeps,
  route: PricedRoute,
  target: Target,
  { headers, body, peer }: RawRequest,
): Sale {
  const { method, upstream, description, mimeType, retryUnsafe } = route;
  const request = {
    method,
    url: upstream === null ? '' : upstreamUrl(upstream, target),
    headers: askedHeaders(headers, true),
    body: Buffer.from(body).toString('base64'),
    isRepeatable: IDEMPOTENT.includes(method) || retryUnsafe,
  };
  return {
    route,
    resource: { url: `${publicUrl}${target.path}${target.query}`, description, mimeType },
    headers,
    requestHash: requestHashOf(route, method, target, body),
    request: upstream === null ? null : request,
    caller: callerOf(headers, clientAddress(peer, headers, trustedProxies), null),
  };
}

/** So that a browser may read terms and answers; what the upstream says itself stays. */
function withAnyOrigin(answer: GatewayAnswer): GatewayAnswer {
  return withHeaders(
    { ...answer, headers: { ...ANY_ORIGIN, ...answer.headers } },
    {
      'access-control-expose-headers': EXPOSED_HEADERS,
    },
  );
}
