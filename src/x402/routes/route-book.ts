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
  /** Whether payments can be for routes of earlier versions. */
  readonly hasEarlier: boolean;
}

/** `earlier`: the routes of earlier versions, newest first. */
export function routeBook(
  current: readonly Route[],
  storedAt: Date,
  earlier: readonly (readonly Route[])[],
): RouteBook {
  const former = new Map<string, PricedRoute>();
  const sold = new Set(pricedOf(current).map(({ id }) => id));
  for (const route of earlier.flatMap(pricedOf))
    if (!sold.has(route.id) && !former.has(route.id)) former.set(route.id, route);
  return { current, former: [...former.values()], storedAt, hasEarlier: earlier.length > 0 };
}

export function pricedOf(routes: readonly Route[]): readonly PricedRoute[] {
  return routes.filter((route) => route.kind === 'priced');
}

/** The route of a request. A request with a payment gets a former route if no current one matches. */
export function findRoute(
  book: RouteBook,
  method: string,
  rawTarget: string,
  hasPayment: boolean,
): RouteMatch {
  const found = matchRoute(book.current, method, rawTarget);
  if (found.kind === 'route' || !hasPayment) return found;
  const former = matchRoute(book.former, method, rawTarget);
  return former.kind === 'route' ? former : found;
}

/**
 * The other priced routes that match the request, current or former. None if no version was replaced: then a payment for
 * this request can only be for its own route.
 */
export function rivalsOf(
  { current, former, hasEarlier }: RouteBook,
  { id, method }: PricedRoute,
  { path }: Pick<Target, 'path'>,
): readonly PricedRoute[] {
  if (!hasEarlier) return [];
  const segments = segmentsOf(path);
  return [...pricedOf(current), ...former].filter(
    (one) => one.id !== id && one.method === method && matchesPattern(one, segments),
  );
}
