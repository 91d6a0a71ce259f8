import type { Ledger } from '../../ledger/ledger.ts';
import type { RouteOffers } from './offers.ts';

export interface ClosedRouteDeps {
  readonly ledger: Pick<Ledger, 'alerts'>;
  readonly offers: Pick<RouteOffers, 'closed'>;
}

export const ROUTE_ALERTS_INTERVAL_MS = 30_000;
/** Three intervals: a gateway that sells a route must not close the alert of a gateway that cannot. */
export const STALE_AFTER_SECONDS = (3 * ROUTE_ALERTS_INTERVAL_MS) / 1_000;
const ALERT_KIND = 'route_closed';

/**
 * Returns a check, for periodic calls, that raises an alert for each route that this gateway does not sell. It closes
 * the alerts that no gateway has raised for 90 seconds: of a route that is sold again or removed, or of an ended gateway.
 */
export function closedRouteWatch({ ledger, offers }: ClosedRouteDeps): () => Promise<void> {
  /** Routes that were closed at the last check. An alert needs two, because fee payers can become ready after the start. */
  let before: ReadonlySet<string> = new Set();
  return async () => {
    const closed = offers.closed();
    for (const { route, reason, since } of closed) {
      if (!before.has(route)) continue;
      const message = `route ${route} answers 503 since ${since.toISOString()}: ${reason}`;
      const details = { reason, since: since.toISOString() };
      await ledger.alerts.raise({ kind: ALERT_KIND, subject: route, message, details });
    }
    before = new Set(closed.map(({ route }) => route));
    await ledger.alerts.closeStale([ALERT_KIND], STALE_AFTER_SECONDS);
  };
}
