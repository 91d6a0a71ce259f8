import type { Client } from '@temporalio/client';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { ExplorerSettings } from '../domain/explorer.ts';
import { requireApiKey } from './auth.ts';
import { type AssetDeps, assetRoutes } from './deposits/assets.ts';
import { backfillRoutes } from './deposits/backfills.ts';
import { type DepositAddressDeps, depositAddressRoutes } from './deposits/deposit-addresses.ts';
import { depositRoutes } from './deposits/deposits.ts';
import { reconciliationRoute } from './deposits/reconciliation.ts';
import { scanRoutes } from './deposits/scan.ts';
import { tokenAccountRoute } from './deposits/token-accounts.ts';
import { healthRoute } from './health.ts';
import { acceptOnlyJson } from './json-body.ts';
import { knownMethods } from './known-methods.ts';
import { describeApi } from './openapi.ts';
import { alertRoutes } from './operations/alerts.ts';
import { pauseRoutes } from './operations/pauses.ts';
import { answerProblems } from './problems.ts';
import { meterRequests } from './request-metrics.ts';
import { type ExplanationDeps, explanationRoutes } from './settlements/explanation.ts';
import { hotWalletRoute } from './settlements/hot-wallets.ts';
import { settlementRoutes } from './settlements/settlements.ts';
import { serializerCompiler, validatorCompiler } from './validation.ts';
import { type WebhookRouteDeps, webhookRoutes } from './webhooks/webhooks.ts';
import { withdrawalRoutes } from './withdrawals/withdrawals.ts';
import { paymentRoutes } from './x402/payments.ts';
import { type RoutesDeps, x402RoutesRoutes } from './x402/routes.ts';

export interface AppDeps
  extends ExplanationDeps,
    DepositAddressDeps,
    AssetDeps,
    WebhookRouteDeps,
    RoutesDeps {
  readonly temporal: Client;
  readonly explorer: ExplorerSettings;
  /** @default no log */
  readonly logger?: FastifyBaseLogger;
  /** Registry for request metrics; another server exposes the registry. */
  readonly metrics?: Registry;
}

const BODY_LIMIT_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;
/** An id in a path has up to 128 characters, each of which can be percent-encoded. */
const MAX_PATH_PARAMETER_LENGTH = 3 * 128;

/** The HTTP API, ready for `listen` or `inject`. Close it before the ledger and the Temporal connection. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(deps.logger === undefined ? {} : { loggerInstance: deps.logger }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_LENGTH },
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  acceptOnlyJson(app);
  answerProblems(app, knownMethods(app));
  if (deps.metrics !== undefined) meterRequests(app, deps.metrics);
  await describeApi(app);
  await app.register(healthRoute(deps));
  await app.register(async (guarded) => {
    requireApiKey(guarded, deps.ledger.apiKeys);
    withdrawalRoutes(guarded, deps);
    settlementRoutes(guarded, deps);
    paymentRoutes(guarded, deps);
    x402RoutesRoutes(guarded, deps);
    explanationRoutes(guarded, deps);
    alertRoutes(guarded, deps);
    pauseRoutes(guarded, deps);
    depositAddressRoutes(guarded, deps);
    tokenAccountRoute(guarded, deps);
    depositRoutes(guarded, deps);
    assetRoutes(guarded, deps);
    backfillRoutes(guarded, deps);
    hotWalletRoute(guarded, deps);
    reconciliationRoute(guarded, deps);
    scanRoutes(guarded, deps);
    webhookRoutes(guarded, deps);
  });
  await app.ready();
  return app;
}
