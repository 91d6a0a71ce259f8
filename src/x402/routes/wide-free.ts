import { ambiguousPath, isNarrower, lenientShapeOf, meetsLeniently, type Pattern } from './patterns.ts';
import type { FreeRoute, PricedRoute, Route } from './route.ts';

/** Methods that frameworks also take from the field `_method` in the body of a POST. */
const OVERRIDABLE_METHODS = ['PUT', 'PATCH', 'DELETE'];

/**
 * True if a request to the free route may get what the priced route sells, because both have one upstream, and the
 * free route's paths there include the sold path or are wider. Upstreams serve one resource under several paths, such
 * as `/report`, `/report.json` and `/report/index.html`, and may answer every method alike. A narrower free route is
 * an exception that the seller has made.
 */
export function canReach(free: FreeRoute, priced: PricedRoute): boolean {
  const [freeUpstream, pricedUpstream] = [upstreamOf(free), upstreamOf(priced)];
  if (freeUpstream === null || freeUpstream.origin !== pricedUpstream?.origin) return false;
  const isOneMethod =
    free.method === priced.method || (free.method === 'POST' && OVERRIDABLE_METHODS.includes(priced.method));
  if (lenientShapeOf(freeUpstream) === lenientShapeOf(pricedUpstream)) return isOneMethod;
  if (isNarrower(pricedUpstream, freeUpstream)) return meetsLeniently(freeUpstream, pricedUpstream);
  return ambiguousPath(freeUpstream, pricedUpstream) !== null;
}

/** Where the requests of a route go: the origin, and the pattern behind the base path. Null for a static answer. */
function upstreamOf({ upstream, segments }: Route): (Pattern & { readonly origin: string }) | null {
  if (upstream === null) return null;
  const { origin, pathname } = new URL(upstream);
  const all = [...pathname.split('/'), ...segments];
  return { origin, segments: all.filter((segment) => segment !== '') };
}
