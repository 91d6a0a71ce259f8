import type { Client } from '@temporalio/client';
import { lowest } from '../../domain/bigint.ts';
import { DomainError } from '../../domain/errors.ts';
import { explorerLink } from '../../domain/explorer.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Chain } from '../../solana/chain.ts';
import { RecentBlockhashes } from '../../solana/tx/recent-blockhashes.ts';
import { Budgets } from '../../x402/budgets.ts';
import type { FacilitatorDeps } from '../../x402/facilitator/deps.ts';
import { facilitatorRoutes } from '../../x402/facilitator/routes.ts';
import { FeePayerWatch } from '../../x402/fee-payer-watch.ts';
import { gatewayApp } from '../../x402/gateway/app.ts';
import { type GatewayDeps, gateway } from '../../x402/gateway/gateway.ts';
import { SharedBlockhash } from '../../x402/gateway/hints.ts';
import { RouteOffers } from '../../x402/gateway/offers.ts';
import { paymentStateRoute } from '../../x402/gateway/payment-state.ts';
import { NETWORKS } from '../../x402/networks.ts';
import { readProxies } from '../../x402/routes/client-address.ts';
import { readRoutesFile } from '../../x402/routes/read-routes.ts';
import type { Route } from '../../x402/routes/route.ts';
import { askUpstream } from '../../x402/upstream.ts';
import type { Config } from '../config.ts';
import { keepDoing } from '../interval.ts';
import type { Logger } from '../logging.ts';
import type { Closers } from '../shutdown.ts';
import { PaymentRuns } from '../temporal/settle-payment.ts';

export interface GatewayParts {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly chain: Chain;
  readonly logger: Logger;
  readonly closers: Closers;
  /** Milliseconds that a request waits for its settlement before the response is pending. Default 20,000. */
  readonly answerWithinMs?: number;
}

const MAX_SIGNERS = 2;
const OFFERS_EVERY_MS = 30_000;
/** Short until every route is sold: at the start, wallets and nodes may be ready a moment later. */
const CLOSED_EVERY_MS = 1_000;
const FEE_PAYERS_EVERY_MS = 60_000;
const QUOTES_VALID_MS = 3_600_000;
const ANSWER_WITHIN_MS = 20_000;

/** Serves `x402Routes` and the facilitator; returns its URL. Throws DomainError InvalidRequest. */
export async function serveGateway(
  config: Config<'api'> & { readonly x402Routes: string },
  parts: GatewayParts,
): Promise<string> {
  const { ledger, logger, closers, answerWithinMs = ANSWER_WITHIN_MS } = parts;
  const { cluster, x402FacilitatorPath: facilitatorPath } = config;
  const routes = readRoutesFile(config.x402Routes, { network: NETWORKS[cluster], facilitatorPath });
  const shared = sharedDeps(config, parts);
  const offers = await openOffers(config, routes, parts);
  const feePayers = new FeePayerWatch({
    ...parts,
    addresses: config.feePayers,
    lowLamports: config.x402FeePayerLow,
  });
  const unlooked = (err: unknown) =>
    logger.warn({ err }, 'the balances of fee payers cannot be looked at now');
  closers.add(
    'fee payers',
    keepDoing(FEE_PAYERS_EVERY_MS, () => feePayers.look(), unlooked),
  );
  const app = await gatewayApp(
    gateway({ ...gatewayDeps(config, routes, offers, shared), answerWithinMs }),
    async (server) => {
      await server.register(paymentStateRoute(ledger));
      const prefix = facilitatorPath.replace(/\/$/, '');
      await server.register(facilitatorRoutes(facilitatorDeps(config, shared)), { prefix });
    },
    logger,
  );
  closers.add('gateway', () => app.close());
  const url = await app.listen({ host: config.x402Host, port: config.x402Port });
  logger.info({ url }, 'the gateway is ready');
  return url;
}

function sharedDeps(config: Config<'api'>, { ledger, chain, temporal, logger }: GatewayParts) {
  return {
    ledger,
    chain,
    blockhashes: new RecentBlockhashes(chain.pool),
    runs: new PaymentRuns(temporal),
    limits: {
      maxComputeUnits: config.x402MaxComputeUnits,
      // The fee payer's signer refuses fees above either limit.
      maxFeeLamports: lowest([config.x402MaxFeeLamports, config.maxFeeLamports]),
      assetLamports: config.x402AssetLamports,
      maxFeePercent: config.x402MaxFeePercent,
      maxSigners: MAX_SIGNERS,
    },
    budgets: { feePayer: config.x402FeePayerBudget, buyer: config.x402BuyerBudget },
    warn: (err: unknown, what: string) => logger.warn({ err }, what),
  };
}

function gatewayDeps(
  config: Config<'api'>,
  routes: readonly Route[],
  offers: RouteOffers,
  shared: ReturnType<typeof sharedDeps>,
): Omit<GatewayDeps, 'answerWithinMs'> {
  const [secret, ...older] = config.x402QuoteSecret ?? [];
  if (secret === undefined)
    throw new DomainError(
      'InvalidRequest',
      'SLUICE_X402_QUOTE_SECRET must be set where SLUICE_X402_ROUTES is',
    );
  const { cluster, rpcUrls = [], explorerUrl, feePayers, retiredFeePayers } = config;
  const publicUrl = config.x402PublicUrl ?? `http://${config.x402Host}:${config.x402Port}`;
  return {
    ...shared,
    network: NETWORKS[cluster],
    routes,
    offers,
    budgets: new Budgets(shared),
    hints: new SharedBlockhash(shared.chain),
    upstream: askUpstream,
    managed: [...feePayers, ...retiredFeePayers],
    quoteSecrets: [secret, ...older],
    publicUrl: publicUrl.replace(/\/$/, ''),
    trustedProxies: readProxies(config.x402TrustedProxies),
    explorerUrl: (signature) => explorerLink(signature, { explorerUrl, cluster, rpcUrls }),
  };
}

function facilitatorDeps(config: Config<'api'>, shared: ReturnType<typeof sharedDeps>): FacilitatorDeps {
  const { cluster, feePayers, retiredFeePayers, tokenPolicy, x402FacilitatorOpen, x402FacilitatorRate } =
    config;
  return {
    ...shared,
    network: NETWORKS[cluster],
    feePayers,
    retiredFeePayers,
    tokenPolicy,
    apiKeys: x402FacilitatorOpen ? null : shared.ledger.apiKeys,
    rateLimit:
      x402FacilitatorRate === undefined
        ? null
        : { perSecond: x402FacilitatorRate, burst: 2 * x402FacilitatorRate },
  };
}

async function openOffers(
  { cluster, feePayers, tokenPolicy }: Config<'api'>,
  routes: readonly Route[],
  { ledger, chain, logger, closers }: GatewayParts,
): Promise<RouteOffers> {
  const network = NETWORKS[cluster];
  const offers = new RouteOffers(
    { offers: ledger.offers, chain, network, feePayers, tokenPolicy, validMs: QUOTES_VALID_MS },
    routes.filter((route) => route.kind === 'priced'),
  );
  await keepOffers(offers, logger, closers);
  return offers;
}

async function keepOffers(offers: RouteOffers, logger: Logger, closers: Closers): Promise<void> {
  const warn = (err: unknown) => logger.warn({ err }, 'the terms of routes cannot be looked at now');
  await offers.look().catch(warn);
  closers.add(
    'offers',
    keepDoing(OFFERS_EVERY_MS, () => offers.look(), warn),
  );
  closers.add(
    'closed offers',
    keepDoing(CLOSED_EVERY_MS, () => offers.lookAtClosed(), warn),
  );
  for (const { routeId, reason } of offers.closed())
    logger.warn({ route: routeId }, `not sold now: ${reason}`);
}
