import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { settlementWorkflowId } from '../../domain/ids.ts';
import type { SettlementViewRow } from '../../ledger/settlements/settlement-views.ts';
import { listRoute, route } from '../route.ts';
import { reason } from '../schemas.ts';
import { type CustomerOrderDeps, endAsPaid } from '../withdrawals/confirm-cancel.ts';
import { SettlementIdQuery, SettlementViewBody, settlementFilter } from './settlement-schemas.ts';

export function settlementRoutes(app: FastifyInstance, deps: CustomerOrderDeps): void {
  const { settlementViews } = deps.ledger;
  listRoute(app, '/v1/settlements', {
    operationId: 'listSettlements',
    tags: ['settlements'],
    summary: 'List settlements of every kind, newest first',
    page: 'SettlementPage',
    name: 'settlements',
    item: SettlementViewBody,
    filter: settlementFilter,
    find: async (query) => {
      const { rows, nextCursor } = await settlementViews.list(query);
      return { rows: rows.map(presentSettlement), nextCursor };
    },
  });
  route(app, 'POST', '/v1/settlements/paid', {
    operationId: 'endSettlementAsPaid',
    tags: ['operations'],
    summary: 'Mark a settlement as already paid',
    description:
      'For a settlement that another transaction has paid: one unknown to this database, or an attempt that was judged dead. Allowed only while an open alert, or a restore of the database from a backup, suggests such a payment. The settlement becomes `cancelled` with the reason `paid_already`.',
    querystring: SettlementIdQuery,
    body: z.strictObject({ reason }),
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
