import type { Client } from '@temporalio/client';
import { DomainError } from '../../domain/errors.ts';
import { explorerLink } from '../../domain/explorer.ts';
import { lowest } from '../../domain/units.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Chain } from '../../solana/chain.ts';
import { RecentBlockhashes } from '../../solana/tx/recent-blockhashes.ts';
import { Budgets } from '../../x402/budgets.ts';
import type { FacilitatorDeps } from '../../x402/facilitator/facilitator.ts';
import { facilitatorRoutes } from '../../x402/facilitator/routes.ts';
import { feePayerWatch } from '../../x402/fee-payer-watch.ts';
import { gatewayApp } from '../../x402/gateway/app.ts';
import { type GatewayDeps, gateway, paymentStateRoute } from '../../x402/gateway/gateway.ts';
import { RouteOffers } from '../../x402/gateway/offers.ts';
import type { PurchaseDeps } from '../../x402/purchase.ts';
import { readProxies } from '../../x402/routes/client-address.ts';
import { readRoutesFile } from '../../x402/routes/read-routes.ts';
import type { Route } from '../../x402/routes/route.ts';
import { NETWORKS } from '../../x402/terms.ts';
import { createUpstreamCall, type UpstreamCall } from '../../x402/upstream-call.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../logging.ts';
import type { Closers } from '../shutdown.ts';
import { PaymentRuns } from '../temporal/settle-payment.ts';

export interface GatewayParts {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly chain: Chain;
  readonly logger: Logger;
  readonly closers: Closers;
  /** Time after which a request that waits for its settlement gets a pending response. Default: 20,000 ms. */
  readonly answerWithinMs?: number;
  /** Replaces calls of the upstream. */
  readonly replaceUpstream?: (call: UpstreamCall) => UpstreamCall;
}

const MAX_SIGNERS = 2;
const OFFERS_INTERVAL_MS = 30_000;
/** Short, because at the start wallets and nodes can become ready a moment after the gateway. */
const CLOSED_ROUTES_INTERVAL_MS = 1_000;
const FEE_PAYERS_INTERVAL_MS = 60_000;
const QUOTE_VALIDITY_MS = 3_600_000;
const ANSWER_WITHIN_MS = 20_000;

/**
 * Serves the priced routes and the facilitator; returns the gateway's URL. Throws InvalidRequest for invalid routes.
 */
export async function serveGateway(
  config: Config<'api'> & { readonly x402Routes: string },
  parts: GatewayParts,
): Promise<string> {
  const { ledger, chain, logger, closers } = parts;
  const { cluster, x402FacilitatorPath: facilitatorPath, feePayers, upstreamVariables } = config;
  const place = { network: NETWORKS[cluster], facilitatorPath, upstreamVariables };
  const routes = readRoutesFile(config.x402Routes, place);
  const runPeriodically = (name: string, intervalMs: number, job: () => Promise<void>) =>
    closers.runPeriodically(name, intervalMs, job, (err) =>
      logger.warn({ err }, `${name} cannot be read now`),
    );
  const offers = openOffers(config, routes, parts);
  const lowLamports = config.x402FeePayerLow;
  const checkFeePayers = feePayerWatch({ ledger, chain, addresses: feePayers, lowLamports });
  runPeriodically('the balances of fee payers', FEE_PAYERS_INTERVAL_MS, checkFeePayers);
  await offers
    .refresh()
    .catch((err: unknown) => logger.warn({ err }, 'the terms of routes cannot be read now'));
  runPeriodically('the terms of routes', OFFERS_INTERVAL_MS, () => offers.refresh());
  runPeriodically('the terms of closed routes', CLOSED_ROUTES_INTERVAL_MS, () => offers.refreshClosed());
  for (const { routeId, reason } of offers.closed())
    logger.warn({ route: routeId }, `the route is not sold now: ${reason}`);
  const purchases = purchaseDeps(config, parts);
  const app = await gatewayApp(
    gateway(gatewayDeps(config, routes, offers, purchases, parts)),
    async (server) => {
      await server.register(paymentStateRoute(ledger));
      const prefix = facilitatorPath.replace(/\/$/, '');
      await server.register(facilitatorRoutes(facilitatorDeps(config, purchases, ledger)), { prefix });
    },
    logger,
  );
  closers.add('gateway', () => app.close());
  const url = await app.listen({ host: config.x402Host, port: config.x402Port });
  logger.info({ url }, 'the gateway is ready');
  return url;
}

function purchaseDeps(
  config: Config<'api'>,
  { ledger, chain, temporal, logger }: GatewayParts,
): PurchaseDeps {
  const budgets = { feePayer: config.x402FeePayerBudget, buyer: config.x402BuyerBudget };
  return {
    ledger,
    chain,
    network: NETWORKS[config.cluster],
    blockhashes: new RecentBlockhashes(chain.pool),
    runs: new PaymentRuns(temporal),
    budgets: new Budgets({ ledger, budgets }),
    managed: [...config.feePayers, ...config.retiredFeePayers],
    limits: {
      maxComputeUnits: config.x402MaxComputeUnits,
      // The signer of the fee payer refuses fees above either limit.
      maxFeeLamports: lowest([config.x402MaxFeeLamports, config.maxFeeLamports]),
      assetLamports: config.x402AssetLamports,
      maxFeePercent: config.x402MaxFeePercent,
      maxSigners: MAX_SIGNERS,
    },
    warn: (err, message) => logger.warn({ err }, message),
  };
}

function gatewayDeps(
  config: Config<'api'>,
  routes: readonly Route[],
  offers: RouteOffers,
  purchases: PurchaseDeps,
  { answerWithinMs = ANSWER_WITHIN_MS, replaceUpstream = (call) => call }: GatewayParts,
): GatewayDeps {
  const [secret, ...olderSecrets] = config.x402QuoteSecret ?? [];
  if (secret === undefined)
    throw new DomainError(
      'InvalidRequest',
      'SLUICE_X402_QUOTE_SECRET must be set if SLUICE_X402_ROUTES is set',
    );
  const { cluster, rpcUrls = [], explorerUrl, x402UpstreamSecret, upstreamVariables: variables } = config;
  const publicUrl = config.x402PublicUrl ?? `http://${config.x402Host}:${config.x402Port}`;
  return {
    ...purchases,
    routes,
    offers,
    answerWithinMs,
    upstream: replaceUpstream(createUpstreamCall({ variables, secret: x402UpstreamSecret ?? null })),
    upstreamVariables: variables,
    quoteSecrets: [secret, ...olderSecrets],
    publicUrl: publicUrl.replace(/\/$/, ''),
    trustedProxies: readProxies(config.x402TrustedProxies),
    explorerUrl: (signature) => explorerLink(signature, { explorerUrl, cluster, rpcUrls }),
  };
}

function facilitatorDeps(config: Config<'api'>, purchases: PurchaseDeps, ledger: Ledger): FacilitatorDeps {
  const { feePayers, tokenPolicy, x402FacilitatorOpen, x402FacilitatorRate: perSecond } = config;
  const rateLimit = perSecond === undefined ? null : { perSecond, burst: 2 * perSecond };
  return {
    ...purchases,
    feePayers,
    tokenPolicy,
    apiKeys: x402FacilitatorOpen ? null : ledger.apiKeys,
    rateLimit,
  };
}

function openOffers(
  { cluster, feePayers, tokenPolicy }: Config<'api'>,
  routes: readonly Route[],
  { ledger, chain }: GatewayParts,
): RouteOffers {
  const network = NETWORKS[cluster];
  return new RouteOffers(
    { offers: ledger.offers, chain, network, feePayers, tokenPolicy, validMs: QUOTE_VALIDITY_MS },
    routes.filter((route) => route.kind === 'priced'),
  );
}
