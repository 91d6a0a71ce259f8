import { createHash } from 'node:crypto';
import { fits, fitsLeniently, isNarrower, lenientForm, narrowerFirst, shapeOf } from './patterns.ts';
import type { Method, Route } from './route.ts';

/** A request target in canonical spelling. `query` begins with `?` and is exactly as sent, or is empty. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** The route of a request; or the status and reason of its refusal, with the methods that the path supports. */
export type RouteMatch =
  | { readonly kind: 'route'; readonly route: Route; readonly target: Target }
  | {
      readonly kind: 'refused';
      readonly status: 400 | 404 | 405;
      readonly reason: string;
      readonly allow?: readonly string[];
    };

/** RFC 3986 `pchar` without `;`, at which some servers end the path. */
const SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-F]{2})*$/;
const QUERY = /^(?:\?[\x21\x22\x24-\x7e]*)?$/;
const MAY_BE_ENCODED = /^[\x20-\x7e]$/;
/** Unreserved characters, which encoding would spell twice; and characters that double decoding turns into syntax. */
const NEVER_ENCODED = /^[A-Za-z0-9\-._~/\\;%?#]$/;

/**
 * Accepts a target only in its canonical spelling, otherwise returns why not. An upstream may read any other
 * spelling as another path. So the target is checked but never normalized.
 */
export function readTarget(raw: string): Target | string {
  if (!raw.startsWith('/')) return 'the request target must be a path that begins with a slash';
  const at = raw.indexOf('?');
  const [path, query] = at === -1 ? [raw, ''] : [raw.slice(0, at), raw.slice(at)];
  if (!QUERY.test(query)) return 'the query has characters that must be percent-encoded';
  if (namesMethod(query)) return 'the query must not have _method: some servers take it as the method';
  if (path === '/') return { path, query };
  const segments = segmentsOf(path);
  if (segments.slice(0, -1).includes('')) return 'the path has an empty segment';
  const fault = segments.map(faultOf).find((one) => one !== null);
  return fault ?? { path, query };
}

function faultOf(segment: string): string | null {
  if (!SEGMENT.test(segment))
    return 'the path has characters that it must not have, or a wrong percent-encoding';
  const encoded = (segment.match(/%../g) ?? []).map((one) => decodeByte(one));
  if (encoded.some((one) => !MAY_BE_ENCODED.test(one) || NEVER_ENCODED.test(one)))
    return 'the path encodes a character that must be written as it is, or must not be there';
  if (segment !== '' && lenientForm(segment) === '') return 'the path has a segment of dots or spaces';
  return null;
}

function decodeByte(encoded: string): string {
  return String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
}

function namesMethod(query: string): boolean {
  return [...new URLSearchParams(query).keys()].some((name) => name.toLowerCase() === '_method');
}

/**
 * Finds the narrowest pattern that matches the path, and then the method. A path that a lenient upstream could match to
 * another priced route has no route, unless its own pattern is narrower.
 */
export function matchRoute(routes: readonly Route[], method: string, raw: string): RouteMatch {
  const target = readTarget(raw);
  if (typeof target === 'string') return { kind: 'refused', status: 400, reason: target };
  const segments = segmentsOf(target.path);
  const matching = narrowest(routes.filter((route) => fits(route, segments)));
  const [first] = matching;
  if (first === undefined) return { kind: 'refused', status: 404, reason: 'there is no such route' };
  if (routes.some((other) => isSoldBy(other, segments) && isAmbiguous(first, other)))
    return { kind: 'refused', status: 404, reason: 'the path is not spelled as the path of its route' };
  const route = matching.find((one) => one.method === method);
  if (route !== undefined) return { kind: 'route', route, target };
  const allow = matching.map((one) => one.method);
  return { kind: 'refused', status: 405, reason: `the route does not have the method ${method}`, allow };
}

function isSoldBy(route: Route, segments: readonly string[]): boolean {
  return route.kind === 'priced' && fitsLeniently(route, segments);
}

/** True if the upstream may prefer the other route. */
function isAmbiguous(route: Route, other: Route): boolean {
  return shapeOf(route) !== shapeOf(other) && !isNarrower(route, other);
}

function narrowest(matching: readonly Route[]): readonly Route[] {
  const sorted = matching.toSorted(narrowerFirst);
  const [first] = sorted;
  return first === undefined ? [] : sorted.filter((one) => shapeOf(one) === shapeOf(first));
}

function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split('/');
}

/** Identifies what a payment buys: hex sha256 over route, method, exact target and body. */
export function requestHashOf(
  route: Pick<Route, 'id'>,
  method: Method,
  { path, query }: Target,
  body: Uint8Array,
): string {
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const parts = JSON.stringify([route.id, method, path + query, bodyHash]);
  return createHash('sha256').update(parts).digest('hex');
}

/** Upstream URL of the target: the base URL's path, then the target's path. */
export function upstreamUrl(upstream: string, { path, query }: Target): string {
  const base = new URL(upstream);
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}${query}`;
}
