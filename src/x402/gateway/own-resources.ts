import type { DiscoveryItem } from '../facilitator/discovery.ts';
import { BAZAAR, bazaarExtension, routeTemplate } from '../formats/bazaar.ts';
import { requirementsV2 } from '../formats/payment-required.ts';
import { pricedOf, type RouteBook } from '../routes/route-book.ts';
import type { RouteOffers } from './offers.ts';

/** The routes that have `discovery` and are sold now, for the list of resources. */
export function ownResources(
  { current, storedAt }: RouteBook,
  offers: Pick<RouteOffers, 'of'>,
  publicUrl: string,
): readonly DiscoveryItem[] {
  return pricedOf(current).flatMap((route): readonly DiscoveryItem[] => {
    const { id, method, segments, description, mimeType, discovery } = route;
    const offer = offers.of(id);
    if (discovery === null || offer.kind !== 'open') return [];
    const path = routeTemplate(segments) ?? `/${segments.join('/').replace(/\*$/, '')}`;
    const item = {
      resource: publicUrl + path,
      type: 'http' as const,
      x402Version: 2 as const,
      accepts: offer.current.map((terms) => requirementsV2(terms)),
      lastUpdated: storedAt.toISOString(),
      description,
      mimeType,
      metadata: { method },
    };
    const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
    return [{ ...item, extensions: { [BAZAAR]: bazaarExtension({ ...route, discovery }, prefix, null) } }];
  });
}
