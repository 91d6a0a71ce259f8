import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { settlementWorkflowId } from '../../domain/ids.ts';
import { SETTLEMENT_STATUSES } from '../../domain/settlement.ts';
import { mapPage } from '../../ledger/page.ts';
import type { SettlementViewRow } from '../../ledger/settlements/settlement-views.ts';
import { listRoute, route } from '../route.ts';
import { ReasonBody, settlementId, text, textOrNull, time } from '../schemas.ts';
import { type CustomerCommandDeps, endAsPaid } from '../withdrawals/confirm-cancel.ts';
import { Reason } from '../withdrawals/withdrawal-schemas.ts';

const SettlementStatusBody = z.enum(SETTLEMENT_STATUSES).meta({ id: 'SettlementStatus' });

export const settlementFields = {
  id: text('Id of the settlement: the id of a withdrawal, or `<kind>/<subject>` for every other kind'),
  kind: text('Kind of settlement, such as `withdrawal` or `nonce-create`'),
  subject: text(
    'What the settlement is for, such as a withdrawal id or the address of a nonce account; unique within its kind',
  ),
  status: SettlementStatusBody.describe('Current status of the settlement'),
  reason: Reason,
  signature: textOrNull('base58 signature of the newest signed attempt; null until an attempt is signed'),
  workflowId: text('Id of the Temporal workflow of the settlement'),
  createdAt: time.describe('Time at which the settlement was created'),
  updatedAt: time.describe('Time at which the settlement last changed'),
};

const SettlementViewBody = z.object(settlementFields).meta({ id: 'SettlementView' });

const settlementFilter = {
  kind: settlementId.optional(),
  subject: settlementId.optional(),
  status: z.enum(SETTLEMENT_STATUSES).optional(),
  signature: settlementId.optional().describe('base58 signature of any attempt of the settlement'),
};

/** The id of a settlement contains slashes, so it is a query parameter and not part of the path. */
export const SettlementIdQuery = z.strictObject({
  id: settlementId.describe('Id of the settlement, percent-encoded'),
});

export function settlementRoutes(app: FastifyInstance, deps: CustomerCommandDeps): void {
  const { settlementViews } = deps.ledger;
  listRoute(app, '/v1/settlements', {
    operationId: 'listSettlements',
    tags: ['settlements'],
    summary: 'List settlements of every kind, newest first',
    pageId: 'SettlementPage',
    itemsField: 'settlements',
    item: SettlementViewBody,
    filter: settlementFilter,
    find: async (query) => mapPage(await settlementViews.list(query), presentSettlement),
  });
  route(app, 'POST', '/v1/settlements/paid', {
    operationId: 'endSettlementAsPaid',
    tags: ['operations'],
    summary: 'Mark a settlement as already paid',
    description:
      'For a settlement that was paid by a transaction which is not in this database, or by an attempt that was judged dead. Allowed only while an open alert, or a restore of the database from a backup, suggests such a payment. The settlement becomes `cancelled` with the reason `paid_already`.',
    querystring: SettlementIdQuery,
    body: ReasonBody,
    response: SettlementViewBody,
    handler: async ({ caller: actor, body, query: { id } }) => {
      await endAsPaid(deps, id, { actor, reason: body.reason });
      return presentSettlement(await settlementViews.get(id));
    },
  });
}

export function presentSettlement(row: SettlementViewRow) {
  return { ...row, subject: row.subjectId, workflowId: settlementWorkflowId(row) };
}
