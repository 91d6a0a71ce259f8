import { EXPOSED_HEADERS } from '../formats/payment-required.ts';
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
    const matched = matchRoute(deps.routes, request.method, request.target);
    if (matched.kind === 'route' && matched.route.kind === 'free' && matched.route.upstream !== null)
      return passage(matched.route.upstream, matched.target, request);
    // Also where the answer does not depend on it: a client that still sends might not read the answer.
    const body = await request.body();
    if (request.method === 'OPTIONS') return preflight(request);
    if (matched.kind === 'refused') {
      const { status, reason, allow } = matched;
      return json(
        status,
        { error: reason },
        { ...ANY_ORIGIN, ...(allow === undefined ? {} : { allow: [...allow].join(', ') }) },
      );
    }
    const { route, target } = matched;
    if (route.kind === 'free') return ownAnswer(route);
    return withAnyOrigin(await sell(deps, saleOf(deps, route, target, { ...request, body })));
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

function passage(upstream: string, target: Target, { headers }: RawRequest): Passage {
  return {
    kind: 'passage',
    url: upstreamUrl(upstream, target),
    requestHeaders: askedHeaders(headers, false),
    responseHeaders: answerHeaders,
  };
}

function ownAnswer({ answer }: FreeRoute): GatewayAnswer {
  if (answer === null) throw new Error('a free route has neither an upstream nor an answer');
  return { status: answer.status, headers: answer.headers, body: Buffer.from(answer.body, 'base64') };
}

function saleOf(
  { publicUrl, trustedProxies }: GatewayDeps,
  route: PricedRoute,
  target: Target,
  { headers, body, peer }: Omit<RawRequest, 'body'> & { readonly body: Uint8Array },
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
