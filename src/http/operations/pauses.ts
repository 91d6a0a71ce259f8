import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isPauseScope, PAUSE_SCOPE } from '../../domain/settlement.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { POSITIONS_BODY_LIMIT, positions, reason, text, time } from '../schemas.ts';

const tags = ['operations'];

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
        z
          .object({
            cause: text('Cause of the pause: `operator`, or the kind of the alert that began the pause'),
            scope: text('Scope of the pause: `all`, `kind/<kind>` or `wallet/<address>`'),
            reason: text('Reason for the pause'),
            actor: text('Name of the API key, operator or process that began the pause'),
            since: time.describe('Time at which the pause began'),
          })
          .meta({ id: 'Pause' }),
      )
      .readonly()
      .describe('Open pauses; after a resume, the pauses that it ended'),
  })
  .meta({ id: 'Pauses' });

export function pauseRoutes(
  app: FastifyInstance,
  { ledger: { pauses } }: { readonly ledger: Pick<Ledger, 'pauses'> },
): void {
  route(app, 'GET', '/v1/pause', {
    operationId: 'listPauses',
    tags,
    summary: 'List the open pauses of payments',
    response: PausesBody,
    handler: async () => ({ pauses: await pauses.listOpen() }),
  });
  route(app, 'POST', '/v1/pause', {
    operationId: 'pausePayments',
    tags,
    summary: 'Pause payments',
    description:
      'After the response, no further attempt is prepared in this scope. An attempt that is already prepared is still signed and sent. The response lists all open pauses.',
    body: PauseBody,
    response: PausesBody,
    handler: async ({ caller: actor, body }) => ({ pauses: await pauses.begin({ actor, ...body }) }),
  });
  route(app, 'POST', '/v1/resume', {
    operationId: 'resumePayments',
    tags,
    summary: 'Resume payments',
    description:
      'Ends every pause, or those of one scope, and closes the alerts that began them. Each of these alerts must be in `seen`; otherwise the response is 409 `AlertsUnseen` with their messages, and no pause ends. The response lists the pauses that ended.',
    bodyLimit: POSITIONS_BODY_LIMIT,
    body: ResumeBody,
    response: PausesBody,
    handler: async ({ caller: actor, body }) => ({
      pauses: await pauses.end({ actor, ...body, seen: body.seen ?? [] }),
    }),
  });
}
