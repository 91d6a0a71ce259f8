import { matchesPattern } from './patterns.ts';
import type { PricedRoute, Route } from './route.ts';
import { matchRoute, type RouteMatch, segmentsOf, type Target } from './target.ts';

/** The routes of the newest version, and the priced routes that only earlier versions have. */
export interface RouteBook {
  readonly current: readonly Route[];
  /** No new request is sold by them. Payments for them are still served. */
  readonly former: readonly PricedRoute[];
  /** When the newest version was stored. */
  readonly storedAt: Date;
  /** The routes of earlier versions, newest first. Payments can be for these. */
  readonly earlier: readonly (readonly Route[])[];
}

export function routeBook(
  current: readonly Route[],
  storedAt: Date,
  earlier: readonly (readonly Route[])[],
): RouteBook {
  const former = new Map<string, PricedRoute>();
  const sold = new Set(pricedOf(current).map(({ id }) => id));
  for (const route of earlier.flatMap(pricedOf))
    if (!sold.has(route.id) && !former.has(route.id)) former.set(route.id, route);
  return { current, former: [...former.values()], storedAt, earlier };
}

export function pricedOf(routes: readonly Route[]): readonly PricedRoute[] {
  return routes.filter((route) => route.kind === 'priced');
}

/**
 * The route of a request. A request with a payment gets a former route if no current one matches, and if the newest
 * version with that route gave it the request: another priced route of that version can make the path ambiguous.
 */
export function findRoute(
  book: RouteBook,
  method: string,
  rawTarget: string,
  hasPayment: boolean,
): RouteMatch {
  const found = matchRoute(book.current, method, rawTarget);
  if (found.kind === 'route' || !hasPayment) return found;
  const former = matchRoute(book.former, method, rawTarget);
  if (former.kind !== 'route') return found;
  const version = book.earlier.find((routes) => routes.includes(former.route)) ?? [];
  const then = matchRoute(version, method, rawTarget);
  return then.kind === 'route' && then.route === former.route ? former : found;
}

/**
 * The other priced routes that match the request, current or former. None if no version was replaced: then a payment for
 * this request can only be for its own route.
 */
export function rivalsOf(
  { current, former, earlier }: RouteBook,
  { id, method }: PricedRoute,
  { path }: Pick<Target, 'path'>,
): readonly PricedRoute[] {
  if (earlier.length === 0) return [];
  const segments = segmentsOf(path);
  return [...pricedOf(current), ...former].filter(
    (one) => one.id !== id && one.method === method && matchesPattern(one, segments),
  );
}
