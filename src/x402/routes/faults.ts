import type { z } from 'zod';
import { at as valueAt } from '../formats/json.ts';
import type { Network } from '../terms.ts';
import { ambiguousPath, lenientShapeOf, shapeOf } from './patterns.ts';
import type { Route } from './route.ts';
import { headersWithoutValue } from './route-headers.ts';
import type { RouteEntry } from './schema.ts';
import { canReach } from './wide-free.ts';

/** Faults such as `routes[2].price: must be set`. For an unknown key the path includes the key. */
export function faultsOfIssue(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'invalid_key')
    return issue.issues.map((one) => `${placeOf(issue.path)}: ${one.message}`);
  if (issue.code !== 'unrecognized_keys') return [`${placeOf(issue.path)}: ${issue.message}`];
  return issue.keys.map((key) => `${placeOf([...issue.path, key])}: is not a known key`);
}

function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return place.replace(/^\./, '') || 'the file';
}

/** Where the gateway publishes the public keys of access passes. */
export const JWKS_PATH = '/.well-known/jwks.json';

const PRICED_ONLY_KEYS = [
  'price',
  'prices',
  'asset',
  'decimals',
  'payTo',
  'flow',
  'finalizedAbove',
  'confirmedByTwoAbove',
  'timeoutSeconds',
  'maxAnswerBytes',
  'stream',
  'paymentIdentifier',
  'serializedTransaction',
  'accessPass',
  'retryUnsafe',
  'maxTimeoutSeconds',
  'memo',
  'discovery',
];
/**
 * Highest `timeoutSeconds` with the flow serve-first. The blockhash of a payment must outlive the upstream's response, and
 * a client may sign with a finalized one, which stays valid for about 118 blocks.
 */
const MAX_SERVE_FIRST_SECONDS = 30;

const UPSTREAM_ONLY_KEYS = [
  'upstreamHeaders',
  'flow',
  'timeoutSeconds',
  'maxAnswerBytes',
  'stream',
  'retryUnsafe',
];

export interface RoutesContext {
  readonly network: Network;
  /** Setting `x402FacilitatorPath`; `/` is the root. */
  readonly facilitatorPath: string;
  /** Environment variables for the headers of routes. Not set: the variables are not checked. */
  readonly upstreamVariables?: Readonly<Record<string, string>>;
}

/** Faults of headers whose environment variable has no usable value. */
export function faultsOfHeaders(
  { upstreamHeaders: routeHeaders = {} }: Pick<RouteEntry, 'upstreamHeaders'>,
  { upstreamVariables: variables }: RoutesContext,
): readonly string[] {
  if (variables === undefined) return [];
  return headersWithoutValue({ routeHeaders, variables }).map(
    (name) => `.upstreamHeaders.${name}: its environment variable must be set to printable ASCII`,
  );
}

/** Faults of one entry: missing or incompatible keys, and a path that the gateway itself uses. */
export function faultsOfKeys(
  entry: Readonly<Record<string, unknown>>,
  hasPayTo: boolean,
  place: Pick<RoutesContext, 'facilitatorPath'>,
): readonly string[] {
  const has = (key: string) => entry[key] !== undefined;
  const faults: string[] = [];
  if (entry['free'] === true) {
    const extra = PRICED_ONLY_KEYS.filter(has);
    faults.push(...extra.map((key) => `.${key}: must not be set, because the route is free`));
  } else {
    if (has('widerThanPriced'))
      faults.push('.widerThanPriced: must not be set, because the route is not free');
    if (!has('price') && !has('prices'))
      faults.push('.price: must be set, unless the route has "free": true');
    if (has('price') && has('prices')) faults.push('.prices: must not be set together with price');
    if (!has('payTo') && !hasPayTo && !everyPriceHasPayTo(entry))
      faults.push('.payTo: must be set here or at the top of the file');
  }
  if (has('accessPass') && valueAt(entry['price'], 'from') !== undefined)
    faults.push('.accessPass: must not be set with price.from: a pass buys every request of its path');
  if (entry['stream'] === true && entry['flow'] === 'serve-first')
    faults.push('.stream: must not be set with the flow serve-first, which stores the response');
  if (entry['flow'] === 'serve-first' && Number(entry['timeoutSeconds'] ?? 0) > MAX_SERVE_FIRST_SECONDS)
    faults.push(
      `.timeoutSeconds: must be at most ${MAX_SERVE_FIRST_SECONDS} with the flow serve-first: a payment can expire during a longer call`,
    );
  if (has('method') && has('methods')) faults.push('.methods: must not be set together with method');
  if (has('upstream') === has('answer')) faults.push(': must have either upstream or answer');
  if (has('answer') && !has('upstream')) {
    if (valueAt(entry['price'], 'from') !== undefined)
      faults.push('.price.from: must not be set, because the answer is static');
    const extra = UPSTREAM_ONLY_KEYS.filter(
      (key) => has(key) && !(has('free') && PRICED_ONLY_KEYS.includes(key)),
    );
    faults.push(...extra.map((key) => `.${key}: must not be set, because the answer is static`));
  }
  if (typeof entry['path'] === 'string') faults.push(...faultsOfPath(entry['path'], place));
  return faults;
}

function everyPriceHasPayTo({ price, prices }: Readonly<Record<string, unknown>>): boolean {
  const list = prices ?? valueAt(price, 'max');
  return Array.isArray(list) && list.every((one) => valueAt(one, 'payTo') !== undefined);
}

function faultsOfPath(
  path: string,
  { facilitatorPath }: Pick<RoutesContext, 'facilitatorPath'>,
): readonly string[] {
  const operations = ['/verify', '/settle', '/supported', '/discovery'];
  const facilitatorRoute = (facilitatorPath === '/' ? operations : [facilitatorPath]).find((one) =>
    isIn(path, one),
  );
  if (facilitatorRoute !== undefined)
    return [
      `.path: ${path} must not be under ${facilitatorRoute}, which the facilitator uses (SLUICE_X402_FACILITATOR_PATH)`,
    ];
  const ownRoute = ['/x402', '/healthz', JWKS_PATH].find((one) => isIn(path, one));
  return ownRoute === undefined
    ? []
    : [`.path: ${path} must not be under ${ownRoute}, which the gateway uses`];
}

function isIn(path: string, other: string): boolean {
  return `${path}/`.toLowerCase().startsWith(`${other}/`.toLowerCase());
}

export interface IndexedRoute {
  readonly index: number;
  readonly route: Route;
}

/**
 * Faults of pairs: a path matches both routes equally, an upstream may confuse them, or the free one gives the sold
 * one away.
 */
export function faultsOfPairs(indexedRoutes: readonly IndexedRoute[]): readonly string[] {
  const faults = indexedRoutes.flatMap((later, at) =>
    indexedRoutes.slice(0, at).flatMap((earlier) => {
      const fault = faultOfPair(earlier.route, later.route);
      const names = `${later.route.id} and ${earlier.route.id} (routes[${earlier.index}])`;
      if (fault !== null) return [`routes[${later.index}].path: ${names} ${fault}`];
      return [...faultsOfFree(later, earlier), ...faultsOfFree(earlier, later)];
    }),
  );
  return [...new Set(faults)];
}

/** The fault of a free route through whose upstream a sold resource may be reached, unless the entry confirms it. */
function faultsOfFree(free: IndexedRoute, sold: IndexedRoute): readonly string[] {
  if (free.route.kind !== 'free' || sold.route.kind !== 'priced' || free.route.widerThanPriced) return [];
  if (!canReach(free.route, sold.route)) return [];
  const { origin } = new URL(sold.route.upstream ?? '');
  const names = `${free.route.id} is free and can reach what ${sold.route.id} (routes[${sold.index}]) sells at ${origin}`;
  const advice =
    'by another path or method that the upstream treats alike: narrow the path, or set "widerThanPriced": true';
  return [`routes[${free.index}].path: ${names}, ${advice}`];
}

function faultOfPair(one: Route, other: Route): string | null {
  if (shapeOf(one) === shapeOf(other)) return one.method === other.method ? 'match the same requests' : null;
  if (lenientShapeOf(one) === lenientShapeOf(other))
    return 'differ only in letter case, which an upstream may ignore';
  const path = one.kind === 'free' && other.kind === 'free' ? null : ambiguousPath(one, other);
  return path === null
    ? null
    : `both match ${path}, and neither pattern is narrower: change one, or add a narrower route`;
}
