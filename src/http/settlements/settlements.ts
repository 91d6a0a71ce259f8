import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { SettlementView } from '../../client/settlements.ts';
import { settlementWorkflowId } from '../../domain/ids.ts';
import type { SettlementViewRow } from '../../ledger/settlements/settlement-views.ts';
import { problems, reason } from '../schemas.ts';
import { type CustomerOrderDeps, endAsPaid } from '../withdrawals/confirm-cancel.ts';
import {
  SettlementIdQuery,
  SettlementPageBody,
  SettlementQuery,
  SettlementViewBody,
} from './settlement-schemas.ts';

export function settlementRoutes(deps: CustomerOrderDeps): FastifyPluginAsyncZod {
  const { ledger } = deps;
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/settlements',
      schema: {
        operationId: 'listSettlements',
        tags: ['settlements'],
        summary: 'List settlements of every kind, newest first',
        querystring: SettlementQuery,
        response: { 200: SettlementPageBody, ...problems },
      },
      handler: async (request) => {
        const { rows, nextCursor } = await ledger.settlementViews.list(request.query);
        return { settlements: rows.map(presentSettlement), nextCursor };
      },
    });
    app.route({
      method: 'POST',
      url: '/v1/settlements/paid',
      schema: {
        operationId: 'endSettlementAsPaid',
        tags: ['operations'],
        summary: 'Mark a settlement as already paid',
        description:
          'For a settlement that another transaction has paid: one unknown to this database, or an attempt that was judged dead. Allowed only while an open alert, or a restore of the database from a backup, suggests such a payment. The settlement becomes `cancelled` with the reason `paid_already`.',
        querystring: SettlementIdQuery,
        body: z.strictObject({ reason }),
        response: { 200: SettlementViewBody, ...problems },
      },
      handler: async ({ caller: actor, body, query: { id } }) => {
        await endAsPaid(deps, id, { actor, reason: body.reason });
        return presentSettlement(await ledger.settlementViews.get(id));
      },
    });
  };
}

export function presentSettlement(row: SettlementViewRow): SettlementView {
  const { subjectId: subject, createdAt, updatedAt, ...rest } = row;
  return {
    ...rest,
    subject,
    workflowId: settlementWorkflowId(row),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
