import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { isPauseScope } from '../domain/pause-scope.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PauseRow } from '../ledger/pauses.ts';
import { ProblemBody, position, time, why } from './schemas.ts';

const scope = z
  .string()
  .refine(isPauseScope, { error: 'must be `all`, `kind/<kind>` or `wallet/<address>`' })
  .optional()
  .describe(
    '`all` (default), `kind/<kind>`: settlements of one kind, or `wallet/<address>`: attempts that this wallet signs',
  );

const PauseBody = z.strictObject({ why, scope });

const ResumeBody = z.strictObject({
  why,
  scope,
  seen: z
    .array(position)
    .max(10_000)
    .optional()
    .describe('Positions of the open alerts that were looked at: all whose kinds hold a pause'),
});

const PausesBody = z
  .object({
    pauses: z
      .array(
        z.object({
          cause: z.string().describe('`operator`, or the kind of the alert that began it'),
          scope: z.string().describe('What it stops: `all`, `kind/<kind>` or `wallet/<address>`'),
          reason: z.string().describe('For people'),
          who: z.string().describe('Who paused'),
          since: time.describe('When'),
        }),
      )
      .readonly()
      .describe('Those that are open: payments go on when none is'),
  })
  .meta({ id: 'Pauses' });

/** `GET /v1/pause`; `POST /v1/pause` and `POST /v1/resume`, in the name of the API key. */
export function pauseRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    const response = { 200: PausesBody, '4xx': ProblemBody, '5xx': ProblemBody };
    app.route({
      method: 'GET',
      url: '/v1/pause',
      schema: {
        tags: ['operations'],
        summary: 'Why no payments are prepared',
        description: 'Answers all open pauses: none where payments go on.',
        response,
      },
      handler: async () => present(await ledger.pauses.open()),
    });
    app.route({
      method: 'POST',
      url: '/v1/pause',
      schema: {
        tags: ['operations'],
        summary: 'Prepare no more payments',
        description:
          'After the answer no attempt is prepared; one that is prepared already is still signed and landed. Answers all open pauses.',
        body: PauseBody,
        response,
      },
      handler: async ({ caller: who, body }) => present(await ledger.pauses.begin({ who, ...body })),
    });
    app.route({
      method: 'POST',
      url: '/v1/resume',
      schema: {
        tags: ['operations'],
        summary: 'End every pause, or those of one scope',
        description:
          'Closes the alerts that had begun one, each of which must be named in `seen`: 409 `AlertsUnseen` tells the text of those that are not, and nothing is ended. Answers the pauses that it ended.',
        body: ResumeBody,
        response,
      },
      handler: async ({ caller: who, body }) =>
        present(await ledger.pauses.end({ who, ...body, seen: body.seen ?? [] })),
    });
  };
}

function present(rows: readonly PauseRow[]): z.input<typeof PausesBody> {
  return {
    pauses: rows.map(({ cause, scope: stops, reason, who, since }) => ({
      cause,
      scope: stops,
      reason,
      who,
      since: since.toISOString(),
    })),
  };
}
