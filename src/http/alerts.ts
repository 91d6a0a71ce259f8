import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ALERT_KINDS } from '../domain/alerts.ts';
import type { AlertRow } from '../ledger/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ProblemBody, pageQuery, time, u64 } from './schemas.ts';

const AlertBody = z
  .object({
    position: u64.meta({ description: 'Names it to `POST /v1/resume`' }),
    kind: z.enum(ALERT_KINDS),
    subject: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
    raisedAt: time,
    lastSeenAt: time,
    count: z.int().positive(),
    closedAt: time.nullable(),
  })
  .meta({ id: 'Alert' });

const AlertPageBody = z
  .object({ alerts: z.array(AlertBody).readonly(), nextCursor: z.string().nullable() })
  .meta({ id: 'AlertPage' });

const AlertQuery = z.strictObject({
  open: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ description: 'Only those that are open, or only those that are closed' }),
  ...pageQuery,
});

/** `GET /v1/alerts`: the one list of what people must know. */
export function alertRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/alerts',
      schema: {
        tags: ['operations'],
        summary: 'List alerts, newest first',
        querystring: AlertQuery,
        response: { 200: AlertPageBody, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      handler: async (request) => {
        const { rows, nextCursor } = await ledger.alerts.list(request.query);
        return { alerts: rows.map(presentAlert), nextCursor };
      },
    });
  };
}

function presentAlert(row: AlertRow): z.input<typeof AlertBody> {
  return {
    ...row,
    position: row.position.toString(),
    raisedAt: row.raisedAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
  };
}
