import { createHash } from 'node:crypto';
import {
  compareByPrecedence,
  isNarrower,
  lenientForm,
  matchesLeniently,
  matchesPattern,
  shapeOf,
} from './patterns.ts';
import type { Method, Route } from './route.ts';

/** A request target in canonical spelling. `query` is exactly as sent: empty, or with its `?`. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** The route of a request, or its refusal. `allow`: with status 405, the methods of the path. */
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
const ENCODABLE_CHARACTER = /^[\x20-\x7e]$/;
/**
 * Unreserved characters, which must not have two spellings; and characters that become syntax after a second decoding.
 */
const NEVER_ENCODED_CHARACTER = /^[A-Za-z0-9\-._~/\\;%?#]$/;

/**
 * Parses a target in canonical spelling, otherwise returns the reason for its refusal. An upstream could read any other
 * spelling as a different path, so the target is checked but never normalized.
 */
export function readTarget(raw: string): Target | string {
  if (!raw.startsWith('/')) return 'the request target must be a path that begins with a slash';
  const at = raw.indexOf('?');
  const [path, query] = at === -1 ? [raw, ''] : [raw.slice(0, at), raw.slice(at)];
  if (!QUERY.test(query)) return 'the query has characters that must be percent-encoded';
  if (overridesMethod(query)) return 'the query must not have _method: some servers take it as the method';
  if (path === '/') return { path, query };
  const segments = segmentsOf(path);
  if (segments.slice(0, -1).includes('')) return 'the path has an empty segment';
  const fault = segments.map(faultOf).find((one) => one !== null);
  return fault ?? { path, query };
}

function faultOf(segment: string): string | null {
  if (!SEGMENT.test(segment))
    return 'the path has an invalid character or an invalid percent-encoding (hex digits must be upper case)';
  const encoded = (segment.match(/%../g) ?? []).map((one) => decodeByte(one));
  if (encoded.some((one) => !ENCODABLE_CHARACTER.test(one) || NEVER_ENCODED_CHARACTER.test(one)))
    return 'the path percent-encodes a character that must be sent unencoded, or that is not allowed';
  if (segment !== '' && lenientForm(segment) === '') return 'the path has a segment of dots or spaces';
  return null;
}

function decodeByte(encoded: string): string {
  return String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
}

function overridesMethod(query: string): boolean {
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
  const matching = narrowest(routes.filter((route) => matchesPattern(route, segments)));
  const [first] = matching;
  if (first === undefined) return { kind: 'refused', status: 404, reason: 'no route matches the path' };
  if (routes.some((other) => isPricedMatch(other, segments) && isAmbiguous(first, other)))
    return {
      kind: 'refused',
      status: 404,
      reason: 'the path is ambiguous: the upstream could match it to a priced route',
    };
  const route = matching.find((one) => one.method === method);
  if (route !== undefined) return { kind: 'route', route, target };
  const allow = matching.map((one) => one.method);
  return { kind: 'refused', status: 405, reason: `the path does not support the method ${method}`, allow };
}

function isPricedMatch(route: Route, segments: readonly string[]): boolean {
  return route.kind === 'priced' && matchesLeniently(route, segments);
}

/** True if the upstream could prefer the other route: its pattern is different and not wider. */
function isAmbiguous(route: Route, other: Route): boolean {
  return shapeOf(route) !== shapeOf(other) && !isNarrower(route, other);
}

function narrowest(matching: readonly Route[]): readonly Route[] {
  const sorted = matching.toSorted(compareByPrecedence);
  const [first] = sorted;
  return first === undefined ? [] : sorted.filter((one) => shapeOf(one) === shapeOf(first));
}

export function segmentsOf(path: string): readonly string[] {
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

/** Upstream URL of the target: the upstream's base URL, followed by the target's path and query. */
export function upstreamUrl(upstream: string, { path, query }: Target): string {
  const base = new URL(upstream);
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}${query}`;
}
