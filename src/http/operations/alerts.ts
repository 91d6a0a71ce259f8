import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  ACKNOWLEDGED_ALERTS,
  ALERT_KINDS,
  ALERTS_CLOSED_WITH_REASON,
  runbookOf,
} from '../../domain/alerts.ts';
import { PAID_BY_DEAD } from '../../domain/settlement.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AlertRow } from '../../ledger/operations/alerts.ts';
import { mapPage } from '../../ledger/page.ts';
import { listRoute, route } from '../route.ts';
import { POSITIONS_BODY_LIMIT, positions, reason, settlementId, text, time, u64 } from '../schemas.ts';

const tags = ['operations'];

export const AlertBody = z
  .object({
    position: u64.describe('Position of the alert, for `POST /v1/resume` and `POST /v1/alerts/seen`'),
    kind: z.enum(ALERT_KINDS).describe('Kind of alert'),
    subject: text(
      'Subject of the alert: a settlement (a withdrawal by its own id), signature, wallet, node, webhook or route, or `sluice` for the whole service',
    ),
    message: text('Explanation of the alert, for display'),
    runbook: text('Path of the runbook page in the repository'),
    details: z.record(z.string(), z.unknown()).describe('Further fields, depending on `kind`'),
    raisedAt: time.describe('Time at which the alert was raised'),
    lastSeenAt: time.describe('Time at which the condition was last observed'),
    count: z.int().positive().describe('Number of observations of the condition'),
    closedAt: time.nullable().describe('Time at which the alert was closed; null while it is open'),
  })
  .meta({ id: 'Alert' });

const ClosedBody = z
  .object({ alerts: z.array(AlertBody).readonly().describe('Alerts that this request closed') })
  .meta({ id: 'ClosedAlerts' });

const openFilter = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .optional()
  .describe('`true`: only open alerts. `false`: only closed alerts');

const SeenBody = z.strictObject({
  seen: positions.min(1).describe('Positions of the alerts to close'),
  reason,
});

const CloseBody = z.strictObject({
  kind: z.enum(ALERTS_CLOSED_WITH_REASON).describe('Kind of the alert'),
  subject: settlementId.describe('Id of the settlement; for a withdrawal, its own id'),
  reason,
});

const ClosedAlertBody = z
  .object({
    closed: z.boolean().describe('True if the request closed the alert; false if no such alert was open'),
  })
  .meta({ id: 'ClosedAlert' });

export function alertRoutes(app: FastifyInstance, { ledger }: { readonly ledger: Ledger }): void {
  listRoute(app, '/v1/alerts', {
    operationId: 'listAlerts',
    tags,
    summary: 'List alerts, newest first',
    pageId: 'AlertPage',
    itemsField: 'alerts',
    item: AlertBody,
    filter: { open: openFilter },
    find: async (query) => mapPage(await ledger.alerts.list(query), withRunbook),
  });
  route(app, 'POST', '/v1/alerts/seen', {
    operationId: 'closeSeenAlerts',
    tags,
    summary: 'Close alerts that an operator has reviewed',
    description: `For alerts of kind ${ACKNOWLEDGED_ALERTS.join(', ')}. If a position names an alert of another kind, the response is 400 with that position and no alert is closed. The response lists the closed alerts, with \`closedBy\` and \`closedReason\` in their details.`,
    bodyLimit: POSITIONS_BODY_LIMIT,
    body: SeenBody,
    response: ClosedBody,
    handler: async ({ caller: actor, body }) => {
      const closed = await ledger.alerts.acknowledge(body.seen, { actor, reason: body.reason });
      return { alerts: closed.map(withRunbook) };
    },
  });
  route(app, 'POST', '/v1/alerts/close', {
    operationId: 'closeAlert',
    tags,
    summary: 'Close an alert that stops a settlement, so that Sluice can pay the settlement',
    description:
      'The alert gets `closedBy` and `closedReason` in its details. The settlement then continues from its newest attempt, and can be paid. If the settlement was paid already, use `POST /v1/settlements/paid` instead. A pause of payments stays until `POST /v1/resume`.',
    body: CloseBody,
    response: ClosedAlertBody,
    handler: async ({ caller: actor, body }) => {
      const { kind, subject } = body;
      const note = { actor, reason: body.reason };
      return {
        closed: await (kind === PAID_BY_DEAD
          ? ledger.settlements.continueUnpaid(subject, note)
          : ledger.alerts.close(kind, subject, note)),
      };
    },
  });
}

const withRunbook = (row: AlertRow) => ({ ...row, runbook: runbookOf(row.kind) });
