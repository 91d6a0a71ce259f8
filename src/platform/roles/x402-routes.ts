import type { Ledger } from '../../ledger/ledger.ts';
import { ROUTE_ALERTS_INTERVAL_MS } from '../../x402/gateway/closed-route-alerts.ts';
import type { RouteOffers } from '../../x402/gateway/offers.ts';
import { outdatedRoutesWatch } from '../../x402/gateway/outdated-routes-alert.ts';
import type { RoutesContext } from '../../x402/routes/faults.ts';
import { LiveRoutes } from '../../x402/routes/live-routes.ts';
import { NETWORKS } from '../../x402/terms.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../logging.ts';
import type { Closers } from '../shutdown.ts';

const ROUTES_INTERVAL_MS = 1_000;

interface RoutesParts {
  readonly ledger: Pick<Ledger, 'routeVersions' | 'alerts'>;
  readonly logger: Logger;
  readonly closers: Closers;
}

/** What routes must fit in this process. Without a gateway, the variables of their headers are not checked. */
export function routesContextOf({
  cluster,
  x402FacilitatorPath: facilitatorPath,
  x402Routes,
  upstreamVariables,
}: Config<'api'>): RoutesContext {
  const place = { network: NETWORKS[cluster], facilitatorPath };
  return x402Routes === undefined ? place : { ...place, upstreamVariables };
}

export async function openRoutes(
  config: Config<'api'> & { readonly x402Routes: string },
  { ledger: { routeVersions: versions }, logger }: RoutesParts,
): Promise<LiveRoutes> {
  const { x402Routes: file, x402RetentionDays: retentionDays } = config;
  const warn = (err: unknown, message: string) => logger.warn({ err }, message);
  return LiveRoutes.start({ versions, file, place: routesContextOf(config), retentionDays, warn });
}

/** Sells each new version of the routes, or raises an alert. SIGHUP makes the routes file a new version. */
export function followRoutes(
  routes: LiveRoutes,
  offers: RouteOffers,
  { ledger, logger, closers }: RoutesParts,
): void {
  const follow = async () => {
    if (await routes.follow((priced) => offers.replace(priced)))
      logger.info({ routes: routes.book.current.length }, 'the gateway sells a new version of the routes');
  };
  closers.runPeriodically('the version of the routes', ROUTES_INTERVAL_MS, follow, (err) =>
    logger.warn({ err }, 'the version of the routes cannot be read now'),
  );
  closers.runPeriodically(
    'alert of outdated routes',
    ROUTE_ALERTS_INTERVAL_MS,
    outdatedRoutesWatch({ ledger, routes }),
    (err) => logger.warn({ err }, 'the alert of outdated routes cannot be updated now'),
  );
  const reload = () =>
    void routes
      .reload()
      .then(follow)
      .catch((err: unknown) => logger.error({ err }, 'the routes file was not reloaded'));
  process.on('SIGHUP', reload);
  closers.add('SIGHUP', () => process.off('SIGHUP', reload));
}
