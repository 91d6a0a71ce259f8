import { hostname } from 'node:os';
import { WHOLE_SYSTEM } from '../../domain/alerts.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { LiveRoutes, RoutesFault } from '../routes/live-routes.ts';
import { STALE_AFTER_SECONDS } from './closed-route-alerts.ts';

export interface OutdatedRoutesDeps {
  readonly ledger: Pick<Ledger, 'alerts'>;
  readonly routes: Pick<LiveRoutes, 'fault'>;
}

const ALERT_KIND = 'routes_outdated';
/** A routes file can have many faults. The log has all of them. */
const MAX_REASON_CHARACTERS = 1_000;

/**
 * Returns a check, for periodic calls, that raises an alert while this gateway cannot sell the newest routes. It closes the
 * alert that no gateway has raised for 90 seconds.
 */
export function outdatedRoutesWatch({ ledger, routes }: OutdatedRoutesDeps): () => Promise<void> {
  /** The fault at the last check. An alert needs the same fault twice, because the database can be away for a moment. */
  let before: RoutesFault | null = null;
  return async () => {
    const { fault } = routes;
    if (fault !== null && fault === before) {
      const reason = fault.reason.slice(0, MAX_REASON_CHARACTERS);
      const since = fault.since.toISOString();
      const host = hostname();
      const message = `the gateway on host ${host} does not sell the newest routes since ${since}: ${reason}`;
      const details = { host, reason, since };
      await ledger.alerts.raise({ kind: ALERT_KIND, subject: WHOLE_SYSTEM, message, details });
    }
    before = fault;
    await ledger.alerts.closeStale([ALERT_KIND], STALE_AFTER_SECONDS);
  };
}
