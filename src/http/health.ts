import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Ledger } from '../ledger/ledger.ts';
import { HealthBody, problems } from './schemas.ts';

const PROBE_DEADLINE_MS = 2_000;

/** `GET /healthz`, without an API key: 200 if PostgreSQL and Temporal respond, otherwise 503 with a field for each. */
export function healthRoute(deps: {
  readonly ledger: Ledger;
  readonly temporal: Client;
}): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/healthz',
      schema: {
        operationId: 'getHealth',
        tags: ['operations'],
        summary: 'Check PostgreSQL and Temporal',
        security: [],
        response: { 200: HealthBody, 503: HealthBody, ...problems },
      },
      handler: async (_request, reply) => {
        const [database, temporal] = await Promise.all([
          isAnswering(deps.ledger.ping()),
          isAnswering(
            deps.temporal.withDeadline(Date.now() + PROBE_DEADLINE_MS, () =>
              describeNamespace(deps.temporal),
            ),
          ),
        ]);
        const ok = database && temporal;
        return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'unavailable', database, temporal });
      },
    });
  };
}

function describeNamespace(temporal: Client): Promise<unknown> {
  return temporal.workflowService.describeNamespace({ namespace: temporal.options.namespace });
}

/** True if `probe` resolves within {@link PROBE_DEADLINE_MS}. */
function isAnswering(probe: Promise<unknown>): Promise<boolean> {
  const success = probe.then(() => true).catch(() => false);
  return Promise.race([success, delay(PROBE_DEADLINE_MS, false, { ref: false })]);
}
