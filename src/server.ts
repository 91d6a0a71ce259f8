import type { Registry } from 'prom-client';
import { updateSilenceAlert } from './deposits/scan/failure-alerts.ts';
import { DomainError } from './domain/errors.ts';
import { buildApp } from './http/app.ts';
import { AddressPool } from './ledger/deposits/address-pool.ts';
import { type Ledger, openLedger } from './ledger/ledger.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { textCipherOf } from './platform/encryption.ts';
import { createLogger, type Logger } from './platform/logging.ts';
import {
  createRegistry,
  meterAlerts,
  meterPayments,
  meterScan,
  meterSettlements,
  serveMetrics,
} from './platform/metrics.ts';
import { openNodes } from './platform/roles/nodes.ts';
import { serveGateway } from './platform/roles/x402-gateway.ts';
import { routesContextOf } from './platform/roles/x402-routes.ts';
import { serverCloser } from './platform/server-closer.ts';
import { Closers, shutdownSignal, untilAborted } from './platform/shutdown.ts';
import { connectTemporal, registerSearchAttributes } from './platform/temporal/client.ts';
import { dataConverter } from './platform/temporal/codec.ts';
import { Chain } from './solana/chain.ts';
import { TtlCache } from './solana/rpc/ttl-cache.ts';
import { routesOf } from './x402/routes/read-routes.ts';

const METRICS_INTERVAL_MS = 15_000;
const CHECK_INTERVAL_MS = 60_000;

const config = readConfigOrExit(process.env, 'api');
const logger = createLogger({ level: config.logLevel, name: 'api' });
const closers = new Closers();
const signal = shutdownSignal();

try {
  const url = await serve(config, logger, closers);
  logger.info({ url }, 'ready');
  await untilAborted(signal);
  logger.info({ signal: signal.reason }, 'stopping');
} catch (error) {
  logger.fatal({ err: error }, 'the API cannot start');
  process.exitCode = 1;
} finally {
  await closers.close(logger);
}

/** Opens the API's dependencies, adds their closers to `resources`, and starts the HTTP server. Returns its URL. */
async function serve(settings: Config<'api'>, log: Logger, resources: Closers): Promise<string> {
  const ledger = await openLedger(settings.databaseUrl, textCipherOf(settings.payloadKeys));
  resources.add('ledger', () => ledger.close());
  if (settings.apiKey !== undefined) await ledger.apiKeys.add('environment', settings.apiKey);

  const { temporalAddress: address, temporalNamespace: namespace } = settings;
  const temporal = await connectTemporal({ address, namespace }, dataConverter(settings.payloadKeys));
  resources.add('Temporal', () => temporal.connection.close());
  await registerSearchAttributes(temporal.connection, namespace);

  const metrics = createRegistry();
  if (settings.metricsAddress !== undefined) {
    const server = await serveMetrics(metrics, settings.metricsAddress);
    resources.add('metrics', () => server.close());
    startMetrics(metrics, ledger, log, resources);
  }
  const { explorerUrl, cluster, rpcUrls = [], addressManifestKey, addressLowWater, tokenPolicy } = settings;
  startChecks(settings, ledger, log, resources);
  const chain = lazyChain(settings, ledger, resources);
  const app = await buildApp({
    ledger,
    temporal: temporal.client,
    explorer: { explorerUrl, cluster, rpcUrls },
    addresses: { manifestKey: addressManifestKey, lowWater: addressLowWater },
    tokenPolicy,
    ...(chain === null ? {} : { chain }),
    allowPrivateWebhooks: settings.webhookAllowPrivate,
    checkRoutes: (content) => void routesOf(content, routesContextOf(settings), 'routes'),
    logger: log,
    metrics,
  });
  resources.add('HTTP', serverCloser(app));
  if (settings.x402Routes !== undefined) {
    if (chain === null)
      throw new DomainError('InvalidRequest', 'SLUICE_RPC_URLS must be set to run the x402 gateway');
    const parts = {
      ledger,
      temporal: temporal.client,
      chain: await chain(),
      logger: log,
      closers: resources,
      metrics,
    };
    await serveGateway({ ...settings, x402Routes: settings.x402Routes }, parts);
  }
  return app.listen({ host: settings.httpHost, port: settings.httpPort });
}

/** Checks conditions every minute for which no other process raises an alert. */
function startChecks(
  { addressLowWater }: Config<'api'>,
  ledger: Ledger,
  log: Logger,
  resources: Closers,
): void {
  const pool = new AddressPool(ledger, addressLowWater);
  const checks = {
    'free deposit addresses': () => pool.updateAlert(),
    'late webhooks': () => ledger.deliveries.updateLateAlerts(),
    'owed payments': () => ledger.obligations.updateOwedAlerts(),
    'silence of the scan': () => updateSilenceAlert(ledger),
  };
  for (const [name, check] of Object.entries(checks))
    resources.runPeriodically(name, CHECK_INTERVAL_MS, check, (err) =>
      log.warn({ err }, `cannot check ${name} now; the next check is in a minute`),
    );
}

/** Updates the gauges whose values are in the database. */
function startMetrics(metrics: Registry, ledger: Ledger, log: Logger, resources: Closers): void {
  const gauges = {
    'open alerts': meterAlerts(metrics, () => ledger.alerts.countOpenByKind()),
    'unfinished settlements': meterSettlements(metrics, () => ledger.settlementViews.countUnfinished()),
    'position of the scan': meterScan(metrics, () => ledger.scanStatus.read()),
    'x402 payments': meterPayments(metrics, () => ledger.paymentCounts.read()),
  };
  for (const [name, update] of Object.entries(gauges))
    resources.runPeriodically(name, METRICS_INTERVAL_MS, update, (err) =>
      log.warn({ err }, `cannot update the metrics of ${name} now`),
    );
}

/** Opens the node pool at the first call, because the API also works without nodes. Null if no nodes are configured. */
function lazyChain(
  { rpcUrls, ...settings }: Config<'api'>,
  ledger: Ledger,
  resources: Closers,
): (() => Promise<Chain>) | null {
  if (rpcUrls === undefined) return null;
  const chainCache = new TtlCache<Chain>(Number.POSITIVE_INFINITY, 1);
  return () =>
    chainCache.get('', async () => {
      const pool = await openNodes({ ...settings, rpcUrls }, (genesisHash) =>
        ledger.cluster.check(genesisHash),
      );
      resources.add('nodes', () => pool.close());
      return new Chain(pool);
    });
}
