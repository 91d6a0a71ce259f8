import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ALERT_KINDS, CLOSED_BY_ORDER, ENDED_BY_A_LOOK } from '../domain/alerts.ts';
import { PAID_BY_DEAD } from '../domain/settlement.ts';
import type { AlertRow } from '../ledger/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { nextCursor, ProblemBody, pageQuery, position, time, u64, why } from './schemas.ts';

const AlertBody = z
  .object({
    position: u64.describe('Names it to `POST /v1/resume` and `POST /v1/alerts/seen`'),
    kind: z.enum(ALERT_KINDS).describe('What it is about, for programs'),
    subject: z
      .string()
      .describe(
        'Which one: a settlement (a withdrawal by its own id), a signature, a wallet, a node, a webhook, or `sluice` for all of it',
      ),
    message: z.string().describe('One sentence for people'),
    details: z.record(z.string(), z.unknown()).describe('More for programs, by kind'),
    raisedAt: time.describe('When it was raised'),
    lastSeenAt: time.describe('When that was last seen to be so'),
    count: z.int().positive().describe('How often that was seen'),
    closedAt: time.nullable().describe('When it ended; null while it is open'),
  })
  .meta({ id: 'Alert' });

const AlertPageBody = z
  .object({ alerts: z.array(AlertBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'AlertPage' });

const ClosedBody = z.object({ alerts: z.array(AlertBody).readonly().describe('Those that were closed') });

const AlertQuery = z.strictObject({
  open: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('Only those that are open, or only those that are closed'),
  ...pageQuery,
});

const SeenBody = z.strictObject({
  seen: z.array(position).min(1).max(10_000).describe('Positions of the alerts'),
  why,
});

const CloseBody = z.strictObject({
  kind: z.enum(CLOSED_BY_ORDER).describe('The kind of the alert'),
  subject: z.string().min(1).max(200).describe('The settlement: a withdrawal by its own id'),
  why,
});

const JudgedBody = z.object({
  closed: z.boolean().describe('False where no such alert was left to be judged'),
});

/**
 * `GET /v1/alerts`: the one list of what people must know; `POST /v1/alerts/seen` and `POST /v1/alerts/close`, in the name of the API key.
 */
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
    app.route({
      method: 'POST',
      url: '/v1/alerts/seen',
      schema: {
        tags: ['operations'],
        summary: 'Close alerts that were looked into, and that nothing else ends',
        description: `Those of kind ${ENDED_BY_A_LOOK.join(', ')}; 400 names the others, and then none is closed. Answers those that it closed, with \`closedBy\` and \`closedWhy\` in their details.`,
        body: SeenBody,
        response: { 200: ClosedBody, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      handler: async ({ caller: who, body: { seen, why } }) => {
        const closed = await ledger.alerts.endSeen(seen, { who, why });
        return { alerts: closed.map(presentAlert) };
      },
    });
    closeRoute(app, ledger);
  };
}

const closeRoute = (app: Parameters<FastifyPluginAsyncZod>[0], ledger: Ledger) =>
  app.route({
    method: 'POST',
    url: '/v1/alerts/close',
    schema: {
      tags: ['operations'],
      summary: 'Close an alert that stops a settlement; Sluice may then pay the settlement',
      description:
        'Closes `maybe_paid`, `dead_attempt_landed` or `payment_keeps_failing` about it, with `closedBy` and `closedWhy` in its details. The settlement then continues from its newest attempt, and may be paid. `sluice settlements mark-paid` is the other end. A pause stays until `POST /v1/resume`.',
      body: CloseBody,
      response: { 200: JudgedBody, '4xx': ProblemBody, '5xx': ProblemBody },
    },
    handler: async ({ caller: who, body: { kind, subject, why } }) => {
      const word = { who, why };
      const isLanding = kind === PAID_BY_DEAD;
      return {
        closed: await (isLanding
          ? ledger.settlements.continueUnpaid(subject, word)
          : ledger.alerts.close(kind, subject, word)),
      };
    },
  });

function presentAlert(row: AlertRow): z.input<typeof AlertBody> {
  return {
    ...row,
    position: row.position.toString(),
    raisedAt: row.raisedAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
  };
}
