import type { Client } from '@temporalio/client';
import { Registry } from 'prom-client';
import { DomainError } from '../../domain/errors.ts';
import { explorerLink } from '../../domain/explorer.ts';
import { lowest } from '../../domain/units.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Chain } from '../../solana/chain.ts';
import { RecentBlockhashes } from '../../solana/tx/recent-blockhashes.ts';
import { Budgets } from '../../x402/budgets.ts';
import { DirectClient } from '../../x402/direct/client.ts';
import type { DiscoveryDeps } from '../../x402/facilitator/discovery.ts';
import type { FacilitatorDeps } from '../../x402/facilitator/facilitator.ts';
import { facilitatorRoutes } from '../../x402/facilitator/routes.ts';
import { feePayerWatch } from '../../x402/fee-payer-watch.ts';
import { FeePayers } from '../../x402/fee-payers.ts';
import { quoteKeyOf } from '../../x402/formats/quote-token.ts';
import { gatewayApp } from '../../x402/gateway/app.ts';
import { closedRouteWatch, ROUTE_ALERTS_INTERVAL_MS } from '../../x402/gateway/closed-route-alerts.ts';
import { type GatewayDeps, gateway, paymentStateRoute } from '../../x402/gateway/gateway.ts';
import { gatewayHealthRoute } from '../../x402/gateway/health.ts';
import { GatewayMetrics } from '../../x402/gateway/metrics.ts';
import { RouteOffers } from '../../x402/gateway/offers.ts';
import { ownResources } from '../../x402/gateway/own-resources.ts';
import { passKeysOf } from '../../x402/passes/keys.ts';
import { Passes } from '../../x402/passes/passes.ts';
import type { PurchaseDeps } from '../../x402/purchase.ts';
import { addressLimiter } from '../../x402/rate-limit.ts';
import { readProxies } from '../../x402/routes/client-address.ts';
import type { LiveRoutes } from '../../x402/routes/live-routes.ts';
import { pricedOf } from '../../x402/routes/route-book.ts';
import { maxPrice } from '../../x402/rules/exact-fees.ts';
import { NETWORKS } from '../../x402/terms.ts';
import { createPriceCall, createUpstreamCall, type UpstreamCall } from '../../x402/upstream-call.ts';
import type { Config } from '../config.ts';
import { plainTextWarning } from '../encryption.ts';
import type { Logger } from '../logging.ts';
import { serverCloser } from '../server-closer.ts';
import type { Closers } from '../shutdown.ts';
import { PaymentRuns } from '../temporal/settle-payment.ts';
import { followRoutes, openRoutes } from './x402-routes.ts';

export interface GatewayParts {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly chain: Chain;
  readonly logger: Logger;
  readonly closers: Closers;
  /** Registry of the gateway's metrics; another server exposes the registry. */
  readonly metrics?: Registry;
  /** Time after which a request that waits for its settlement gets a pending response. Default: 20,000 ms. */
  readonly answerWithinMs?: number;
  /** Replaces calls of the upstream. */
  readonly replaceUpstream?: (call: UpstreamCall) => UpstreamCall;
}

const MAX_SIGNERS = 2;
const OFFERS_INTERVAL_MS = 30_000;
/** Short, because at the start wallets and nodes can become ready a moment after the gateway. */
const REOPENING_INTERVAL_MS = 1_000;
const FEE_PAYERS_INTERVAL_MS = 60_000;
const UNFETCHED_INTERVAL_MS = 60_000;
const REPLACED_TERMS_VALID_MS = 3_600_000;
const ANSWER_WITHIN_MS = 20_000;

/**
 * Serves the priced routes and the facilitator; returns the gateway's URL. Throws InvalidRequest for invalid routes.
 */
export async function serveGateway(
  config: Config<'api'> & { readonly x402Routes: string },
  parts: GatewayParts,
): Promise<string> {
  const { ledger, logger, closers } = parts;
  const warning = plainTextWarning(config.payloadKeys);
  if (warning !== null) logger.warn(warning);
  const { x402FacilitatorPath: facilitatorPath } = config;
  const routes = await openRoutes(config, parts);
  const metrics = new GatewayMetrics(parts.metrics ?? new Registry());
  const purchases = { ...purchaseDeps(config, parts), observe: metrics.observe };
  const offers = openOffers(config, routes, purchases, parts);
  await offers
    .refresh()
    .catch((err: unknown) => logger.warn({ err }, 'the terms of routes cannot be read now'));
  runJobs(config, offers, parts);
  followRoutes(routes, offers, parts);
  const app = await gatewayApp(
    gateway({ ...gatewayDeps(config, routes, offers, purchases, parts), metrics }),
    async (server) => {
      await server.register(gatewayHealthRoute(ledger, offers));
      await server.register(paymentStateRoute(ledger));
      const prefix = facilitatorPath.replace(/\/$/, '');
      const ownItems = () => ownResources(routes.book, offers, publicUrlOf(config));
      await server.register(facilitatorRoutes(facilitatorDeps(config, purchases, ledger, ownItems)), {
        prefix,
      });
    },
    logger,
  );
  closers.add('gateway', serverCloser(app));
  const url = await app.listen({ host: config.x402Host, port: config.x402Port });
  logger.info({ url }, 'the gateway is ready');
  return url;
}

function runJobs(config: Config<'api'>, offers: RouteOffers, parts: GatewayParts): void {
  const { ledger, chain, logger, closers } = parts;
  const run = (
    name: string,
    intervalMs: number,
    job: () => Promise<void>,
    failure = `${name} cannot be read now`,
  ) => closers.runPeriodically(name, intervalMs, job, (err) => logger.warn({ err }, failure));
  const { feePayers: addresses, x402FeePayerLow: lowLamports } = config;
  const checkFeePayers = feePayerWatch({ ledger, chain, addresses, lowLamports });
  run('the balances of fee payers', FEE_PAYERS_INTERVAL_MS, checkFeePayers);
  run('the terms of routes', OFFERS_INTERVAL_MS, () => offers.refresh());
  run('fee payers and closed routes', REOPENING_INTERVAL_MS, () => offers.refreshClosed());
  const notEnded = 'payments whose success was not fetched cannot be ended now';
  run('unfetched successes', UNFETCHED_INTERVAL_MS, endUnfetched(parts), notEnded);
  const reportClosed = closedRouteWatch({ ledger, offers });
  const notUpdated = 'the alerts of closed routes cannot be updated now';
  run('alerts of closed routes', ROUTE_ALERTS_INTERVAL_MS, reportClosed, notUpdated);
}

/** Ends payments of the facilitator whose success no caller has fetched, and logs how many. */
function endUnfetched({ ledger, logger }: GatewayParts): () => Promise<void> {
  return async () => {
    const payments = await ledger.obligations.endUnfetched();
    if (payments > 0n)
      logger.warn({ payments }, 'the success of payments was not fetched from the facilitator');
  };
}

function purchaseDeps(
  config: Config<'api'>,
  { ledger, chain, temporal, logger, closers }: GatewayParts,
): Omit<PurchaseDeps, 'observe'> & { readonly budgets: Budgets } {
  const warn: PurchaseDeps['warn'] = (err, message) => logger.warn({ err }, message);
  const budgets = {
    feePayer: config.x402FeePayerBudget,
    buyer: config.x402BuyerBudget,
    facilitatorCaller: config.x402FacilitatorBudget,
  };
  return {
    ledger,
    chain,
    network: NETWORKS[config.cluster],
    blockhashes: new RecentBlockhashes(chain.pool),
    runs: new PaymentRuns(temporal),
    direct: directOf(config.x402Socket, closers, warn),
    budgets: new Budgets({ ledger, budgets }),
    managed: [...config.feePayers, ...config.retiredFeePayers],
    limits: {
      maxComputeUnits: config.x402MaxComputeUnits,
      // The signer of the fee payer refuses fees and prices above its own limits: these settings must agree.
      maxFeeLamports: lowest([config.x402MaxFeeLamports, config.maxFeeLamports]),
      maxPriceMicroLamports: maxPrice(config.priorityCapMicroLamports),
      assetLamports: config.x402AssetLamports,
      maxFeePercent: config.x402MaxFeePercent,
      maxSigners: MAX_SIGNERS,
    },
    warn,
  };
}

function directOf(
  socketPath: string | undefined,
  closers: Closers,
  warn: PurchaseDeps['warn'],
): DirectClient | null {
  if (socketPath === undefined) return null;
  const client = new DirectClient(socketPath, warn);
  closers.add('socket of the x402 worker', () => client.close());
  return client;
}

function gatewayDeps(
  config: Config<'api'>,
  routes: LiveRoutes,
  offers: RouteOffers,
  purchases: PurchaseDeps,
  { ledger, answerWithinMs = ANSWER_WITHIN_MS, replaceUpstream = (call) => call }: GatewayParts,
): Omit<GatewayDeps, 'metrics'> {
  const { cluster, rpcUrls = [], explorerUrl, x402PaymentRate: paymentRate } = config;
  const { x402UpstreamSecret, upstreamVariables: variables } = config;
  const { accessPasses } = ledger;
  const keys = gatewayKeys(config);
  return {
    ...purchases,
    ...keys,
    passes: new Passes({ accessPasses, ...keys, network: purchases.network.caip2 }),
    routes,
    offers,
    answerWithinMs,
    upstream: replaceUpstream(
      createUpstreamCall({ variables, secret: x402UpstreamSecret ?? null, observe: purchases.observe }),
    ),
    askPrice: createPriceCall({ variables }),
    upstreamVariables: variables,
    takePaymentToken: addressLimiter({ perSecond: paymentRate, burst: 2 * paymentRate }),
    clientNetwork: {
      trustedProxies: readProxies(config.x402TrustedProxies),
      directClients: config.x402DirectClients || cluster === 'localnet',
    },
    explorerUrl: (signature) => explorerLink(signature, { explorerUrl, cluster, rpcUrls }),
  };
}

function publicUrlOf({ x402Host, x402Port, x402PublicUrl }: Config<'api'>): string {
  return (x402PublicUrl ?? `http://${x402Host}:${x402Port}`).replace(/\/$/, '');
}

/** The public URL of the gateway, and the keys of its quotes and access passes, which depend on the URL. */
function gatewayKeys(config: Config<'api'>) {
  const [secret, ...olderSecrets] = config.x402QuoteSecret ?? [];
  if (secret === undefined)
    throw new DomainError(
      'InvalidRequest',
      'SLUICE_X402_QUOTE_SECRET must be set if SLUICE_X402_ROUTES is set',
    );
  const publicUrl = publicUrlOf(config);
  const olderKeys = olderSecrets.map((older) => quoteKeyOf(older, publicUrl));
  const quoteSecrets: GatewayDeps['quoteSecrets'] = [quoteKeyOf(secret, publicUrl), ...olderKeys];
  return { publicUrl, quoteSecrets, passKeys: passKeysOf([secret, ...olderSecrets], publicUrl) };
}

function facilitatorDeps(
  config: Config<'api'>,
  purchases: PurchaseDeps & ReturnType<typeof purchaseDeps>,
  ledger: Ledger,
  ownItems: DiscoveryDeps['ownItems'],
): FacilitatorDeps {
  const { feePayers, tokenPolicy, x402FacilitatorOpen, x402FacilitatorRate: perSecond } = config;
  const rateLimit = perSecond === undefined ? null : { perSecond, burst: 2 * perSecond };
  return {
    ...purchases,
    feePayers,
    tokenPolicy,
    discovery: { catalog: ledger.catalog, ownItems, publicUrl: publicUrlOf(config), warn: purchases.warn },
    apiKeys: x402FacilitatorOpen ? null : ledger.apiKeys,
    rateLimit,
    trustedProxies: readProxies(config.x402TrustedProxies),
  };
}

function openOffers(
  { cluster, feePayers: addresses, tokenPolicy }: Config<'api'>,
  routes: LiveRoutes,
  { budgets, limits: { maxFeeLamports } }: ReturnType<typeof purchaseDeps>,
  { ledger, chain, logger }: GatewayParts,
): RouteOffers {
  const network = NETWORKS[cluster];
  const feePayers = new FeePayers({ chain, budgets, addresses, maxFeeLamports });
  const onChange = (route: string, reason: string | null) =>
    reason === null
      ? logger.info({ route }, 'the route is sold again')
      : logger.warn({ route }, `the route is not sold now: ${reason}`);
  const onAssetChange = (route: string, asset: string, reason: string | null) =>
    reason === null
      ? logger.info({ route, asset }, 'the route is sold for the asset again')
      : logger.warn({ route, asset }, `the route is not sold for the asset now: ${reason}`);
  const offers = { offers: ledger.offers, validMs: REPLACED_TERMS_VALID_MS, onChange, onAssetChange };
  return new RouteOffers(
    { ...offers, chain, network, feePayers, tokenPolicy },
    pricedOf(routes.book.current),
  );
}
