import type { Client } from '@temporalio/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Ledger } from '../ledger/ledger.ts';
import { HealthBody } from './schemas.ts';

const PROBE_DEADLINE_MS = 2_000;

/** `GET /healthz`, open to all: 200 when PostgreSQL and Temporal answer, else 503 that says which does not. */
export function healthRoute(deps: {
  readonly ledger: Ledger;
  readonly temporal: Client;
}): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/healthz',
      schema: {
        tags: ['operations'],
        summary: 'Whether the API can do its work',
        security: [],
        response: { 200: HealthBody, 503: HealthBody },
      },
      handler: async (_request, reply) => {
        const [database, temporal] = await Promise.all([
          answers(deps.ledger.ping()),
          answers(deps.temporal.withDeadline(Date.now() + PROBE_DEADLINE_MS, () => describe(deps.temporal))),
        ]);
        const ok = database && temporal;
        return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'unavailable', database, temporal });
      },
    });
  };
}

function describe(temporal: Client): Promise<unknown> {
  return temporal.workflowService.describeNamespace({ namespace: temporal.options.namespace });
}

/** True if `probe` succeeds in time. */
async function answers(probe: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PROBE_DEADLINE_MS);
  });
  try {
    return await Promise.race([probe.then(() => true).catch(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}
