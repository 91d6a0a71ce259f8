import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { SettlementView } from '../client/settlements.ts';
import { settlementWorkflowId } from '../domain/ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementViewRow } from '../ledger/settlement-views.ts';
import { problems } from './schemas.ts';
import { SettlementPageBody, SettlementQuery } from './settlement-schemas.ts';

/** `GET /v1/settlements`: settlements of every kind. */
export function settlementRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/settlements',
      schema: {
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
  };
}

/** A settlement as the API shows it. */
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
