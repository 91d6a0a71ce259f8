import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import { databaseFault } from '../../ledger/connection.ts';
import { settleBody, supportedBody, verifyBody } from './answers.ts';
import { guardRoutes, idempotencyKeyOf } from './callers.ts';
import { SuccessDeliveries } from './deliveries.ts';
import { DiscoveryQuery, ResourceList } from './discovery.ts';
import type { RefusedPayment } from './examine.ts';
import { Facilitator, type FacilitatorDeps } from './facilitator.ts';
import { acceptStrictJson, type ReadRequest, read, readRequest } from './request.ts';

/** Far above a request with extensions and their schemas, which has a few KiB. */
const BODY_LIMIT_BYTES = 64 * 1_024;

/**
 * `POST /verify`, `POST /settle`, `GET /supported` and `GET /discovery/resources` of an x402 facilitator, versions 1 and 2, scheme `exact` on
 * Solana. The paths are relative to the prefix of the plugin. Every outcome of a payment is a 200. A 400 names the
 * malformed field. Source: x402 specification, versions 1 and 2.
 */
export function facilitatorRoutes(deps: FacilitatorDeps): FastifyPluginAsync {
  return async (app) => {
    const facilitator = new Facilitator(deps);
    const deliveries = new SuccessDeliveries(deps);
    app.addHook('onClose', () => deliveries.close());
    acceptStrictJson(app);
    answerErrors(app, deps);
    const resources = new ResourceList(deps.discovery);
    app.get('/supported', async () => supportedBody(deps));
    app.get('/discovery/resources', async ({ query }) => resources.page(read(DiscoveryQuery, query)));
    await app.register(async (guarded) => {
      guardRoutes(guarded, deps);
      const options = { bodyLimit: BODY_LIMIT_BYTES };
      guarded.post('/verify', options, (request, reply) => answerVerify(facilitator, request, reply));
      guarded.post('/settle', options, (request, reply) =>
        answerSettle(facilitator, deliveries, resources, request, reply),
      );
    });
  };
}

async function answerVerify(facilitator: Facilitator, request: FastifyRequest, reply: FastifyReply) {
  reply.header('cache-control', 'no-store');
  const parsed = readRequest(request.body);
  if (parsed.kind === 'version') return verifyBody(versionRefusal(parsed), 'v2');
  const { facilitatorKey } = request;
  const verified = await facilitator.verify(parsed.request, {
    key: idempotencyKeyOf(request),
    facilitatorKey,
  });
  return verifyBody(verified, parsed.request.dialect);
}

async function answerSettle(
  facilitator: Facilitator,
  deliveries: SuccessDeliveries,
  resources: ResourceList,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  reply.header('cache-control', 'no-store');
  const parsed = readRequest(request.body);
  if (parsed.kind === 'version')
    return settleBody({ ...versionRefusal(parsed), kind: 'failed', signature: null }, 'v2', parsed);
  const key = idempotencyKeyOf(request);
  const isGone = () => reply.raw.destroyed || request.raw.socket.destroyed;
  const { facilitatorKey } = request;
  const settled = await facilitator.settle(parsed.request, { key, facilitatorKey, isGone });
  if (settled.kind === 'success') {
    deliveries.follow(reply.raw, { id: settled.payment.id, holder: settled.holder, key });
    const responses = resources.note(parsed.request, facilitatorKey);
    if (responses !== null) reply.header('extension-responses', responses);
  }
  return settleBody(settled, parsed.request.dialect, parsed.request.requirements);
}

function versionRefusal({ version }: Extract<ReadRequest, { kind: 'version' }>): RefusedPayment {
  const message = `this facilitator supports versions 1 and 2 of x402, not ${version}`;
  return { kind: 'refused', reason: 'invalid_x402_version', message, payer: null };
}

/** Responds to errors that do not depend on the payment. Only these have a status other than 200. */
function answerErrors(app: FastifyInstance, { warn }: Pick<FacilitatorDeps, 'warn'>): void {
  app.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    if (status < 500) return reply.code(status).send({ error: messageOf(error) });
    warn(error, `the facilitator failed on ${request.method} ${request.routeOptions.url}`);
    const fault = databaseFault(error, { reads: true }) ?? error;
    if (!isDomainError(fault) || !fault.retryable)
      return reply.code(500).send({ error: 'Internal server error' });
    return reply.code(503).header('retry-after', '1').send({ error: 'The facilitator cannot answer now' });
  });
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 ? status : 500;
}
