import swagger from '@fastify/swagger';
import type { Client } from '@temporalio/client';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { Registry } from 'prom-client';
import type { ExplorerSettings } from '../domain/explorer.ts';
import { VERSION } from '../platform/version.ts';
import { alertRoutes } from './alerts.ts';
import { type AssetDeps, assetRoutes } from './assets.ts';
import { auditRoutes } from './audits.ts';
import { requireApiKey } from './auth.ts';
import { type DepositAddressDeps, depositAddressRoutes } from './deposit-addresses.ts';
import { depositRoutes } from './deposits.ts';
import { type ExplanationDeps, explanationRoutes } from './explanation.ts';
import { healthRoute } from './health.ts';
import { hotWalletRoute } from './hot-wallets.ts';
import { acceptOnlyJson } from './json-body.ts';
import { pauseRoutes } from './pauses.ts';
import { paymentRoutes } from './payments.ts';
import { answerProblems } from './problems.ts';
import { reconciliationRoute } from './reconciliation.ts';
import { meterRequests } from './request-metrics.ts';
import { scanRoutes } from './scan.ts';
import { settlementRoutes } from './settlements.ts';
import { tokenAccountRoute } from './token-accounts.ts';
import { validatorCompiler } from './validation.ts';
import { type WebhookRouteDeps, webhookRoutes } from './webhooks.ts';
import { withdrawalRoutes } from './withdrawals.ts';

export interface AppDeps extends ExplanationDeps, DepositAddressDeps, AssetDeps, WebhookRouteDeps {
  readonly temporal: Client;
  readonly explorer: ExplorerSettings;
  /** Nothing is logged without one. */
  readonly logger?: FastifyBaseLogger;
  /** Requests are counted here; the page itself is served apart from the API. */
  readonly metrics?: Registry;
}

const BODY_LIMIT_BYTES = 64 * 1024;
/** For a client to send its whole request. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Ids have up to 128 characters, and each may be percent-encoded. */
const LONGEST_PATH_PARAMETER = 3 * 128;

/** The HTTP API, ready for `listen` or `inject`. Close it before the ledger and the Temporal connection. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(deps.logger === undefined ? {} : { loggerInstance: deps.logger }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER },
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  acceptOnlyJson(app);
  answerProblems(app);
  if (deps.metrics !== undefined) meterRequests(app, deps.metrics);
  await describeApi(app);
  await app.register(healthRoute(deps));
  await app.register(async (guarded) => {
    requireApiKey(guarded, deps.ledger.apiKeys);
    const typed = guarded.withTypeProvider<ZodTypeProvider>();
    await typed.register(withdrawalRoutes(deps));
    await typed.register(settlementRoutes(deps));
    await typed.register(paymentRoutes(deps));
    await typed.register(explanationRoutes(deps));
    await typed.register(alertRoutes(deps));
    await typed.register(pauseRoutes(deps));
    await typed.register(depositAddressRoutes(deps));
    await typed.register(tokenAccountRoute(deps));
    await typed.register(depositRoutes(deps));
    await typed.register(assetRoutes(deps));
    await typed.register(auditRoutes(deps));
    await typed.register(hotWalletRoute(deps));
    await typed.register(reconciliationRoute(deps));
    await typed.register(scanRoutes({ ...deps, cluster: deps.explorer.cluster }));
    await typed.register(webhookRoutes(deps));
  });
  await app.ready();
  return app;
}

/** `GET /openapi.json`, written from the schemas of the routes. */
async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice',
        version: VERSION,
        description:
          'Deposits and withdrawals on Solana as durable workflows. Amounts are base units as decimal strings.',
      },
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
      security: [{ apiKey: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
}
