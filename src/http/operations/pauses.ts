import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { isPauseScope, PAUSE_SCOPE } from '../../domain/pause-scope.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PauseRow } from '../../ledger/operations/pauses.ts';
import { POSITIONS_BODY_LIMIT, positions, problems, reason, time } from '../schemas.ts';

const scope = z
  .string()
  .refine(isPauseScope, { error: 'must be `all`, `kind/<kind>` or `wallet/<address>`' })
  .meta({ pattern: PAUSE_SCOPE.source })
  .optional()
  .describe(
    '`all` (default); `kind/<kind>`: settlements of this kind; `wallet/<address>`: attempts that this wallet signs',
  );

const PauseBody = z.strictObject({ reason, scope });

const ResumeBody = z.strictObject({
  reason,
  scope,
  seen: positions
    .optional()
    .describe(
      'Positions of the open alerts that you have reviewed. Every open alert that began a pause must be among them',
    ),
});

const PausesBody = z
  .object({
    pauses: z
      .array(
        z.object({
          cause: z.string().describe('`operator`, or the kind of the alert that began the pause'),
          scope: z.string().describe('Scope of the pause: `all`, `kind/<kind>` or `wallet/<address>`'),
          reason: z.string().describe('Reason for the pause'),
          actor: z.string().describe('Name of the API key, operator or process that paused'),
          since: time.describe('Start of the pause'),
        }),
      )
      .readonly()
      .describe('Pauses; empty while no payment is paused'),
  })
  .meta({ id: 'Pauses' });

/** `GET /v1/pause`, `POST /v1/pause` and `POST /v1/resume`. The name of the API key is stored with each action. */
export function pauseRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/pause',
      schema: {
        operationId: 'listPauses',
        tags: ['operations'],
        summary: 'List the open pauses of payments',
        response,
      },
      handler: async () => present(await ledger.pauses.open()),
    });
    app.route({
      method: 'POST',
      url: '/v1/pause',
      schema: {
        operationId: 'pausePayments',
        tags: ['operations'],
        summary: 'Pause payments',
        description:
          'After the response no further attempt is prepared in this scope. An attempt that is already prepared is still signed and sent. The response lists all open pauses.',
        body: PauseBody,
        response,
      },
      handler: async ({ caller: actor, body }) => present(await ledger.pauses.begin({ actor, ...body })),
    });
    resumeRoute(app, ledger);
  };
}

const response = { 200: PausesBody, ...problems };

const resumeRoute = (app: Parameters<FastifyPluginAsyncZod>[0], ledger: Ledger) =>
  app.route({
    method: 'POST',
    url: '/v1/resume',
    bodyLimit: POSITIONS_BODY_LIMIT,
    schema: {
      operationId: 'resumePayments',
      tags: ['operations'],
      summary: 'Resume payments',
      description:
        'Ends every pause, or those of one scope, and closes the alerts that began them. Each of these alerts must be in `seen`; otherwise the response is 409 `AlertsUnseen` with their messages, and no pause ends. The response lists the pauses that ended.',
      body: ResumeBody,
      response,
    },
    handler: async ({ caller: actor, body }) =>
      present(await ledger.pauses.end({ actor, ...body, seen: body.seen ?? [] })),
  });

function present(rows: readonly PauseRow[]): z.input<typeof PausesBody> {
  return {
    pauses: rows.map(({ cause, scope: stops, reason, actor, since }) => ({
      cause,
      scope: stops,
      reason,
      actor,
      since: since.toISOString(),
    })),
  };
}
