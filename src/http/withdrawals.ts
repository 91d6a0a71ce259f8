import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Withdrawal } from '../client/types.ts';
import type { ExplorerSettings } from '../domain/explorer.ts';
import { isTerminal } from '../domain/settlement.ts';
import { checkTerms } from '../domain/terms.ts';
import { termsOf } from '../ledger/terms-of-row.ts';
import { startWithdrawal } from '../platform/start-withdrawal.ts';
import { type CustomerWordDeps, cancel, confirm, endAsPaid } from './customer-word.ts';
import { presentSummary, presentWithdrawal } from './present.ts';
import { ProblemBody, why } from './schemas.ts';
import { refuseAsRecorded } from './temporal-faults.ts';
import { IdParams, ListQuery, PageBody, TermsBody, WithdrawalBody } from './withdrawal-schemas.ts';

export interface WithdrawalRouteDeps extends CustomerWordDeps {
  readonly explorer: ExplorerSettings;
}

const tags = ['withdrawals'];
const problem = { '4xx': ProblemBody, '5xx': ProblemBody };

/** Routes of `/v1/withdrawals`. */
export function withdrawalRoutes(deps: WithdrawalRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/withdrawals',
      schema: {
        tags,
        summary: 'Ask for a withdrawal',
        description:
          '202 when it is new and safely on record; 200 with its present state for the same id and terms; 409 for others.',
        body: TermsBody,
        response: { 200: WithdrawalBody, 202: WithdrawalBody, ...problem },
      },
      // The schema is for the OpenAPI document: `checkTerms` judges, for every way in alike.
      validatorCompiler: () => (value: unknown) => ({ value }),
      handler: async (request, reply) => {
        const { created, withdrawal } = await ask(deps, request.body);
        return reply
          .code(created ? 202 : 200)
          .header('location', withdrawal.links.self)
          .send(withdrawal);
      },
    });
    readRoutes(deps, app);
    wordRoutes(deps, app);
    operatorRoutes(deps, app);
  };
}

type App = Parameters<FastifyPluginAsyncZod>[0];

function readRoutes(deps: WithdrawalRouteDeps, app: App): void {
  app.route({
    method: 'GET',
    url: '/v1/withdrawals',
    schema: {
      tags,
      summary: 'List withdrawals, newest first',
      querystring: ListQuery,
      response: { 200: PageBody, ...problem },
    },
    handler: async (request) => {
      const { rows, nextCursor } = await deps.ledger.withdrawals.list(request.query);
      return { withdrawals: rows.map(presentSummary), nextCursor };
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/withdrawals/:id',
    schema: {
      tags,
      summary: 'Read a withdrawal and its attempts',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problem },
    },
    handler: (request) => show(deps, request.params.id),
  });
}

function wordRoutes(deps: WithdrawalRouteDeps, app: App): void {
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:id/confirm',
    schema: {
      tags,
      summary: 'Pay the wallet although it needs a confirmation',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problem },
    },
    handler: async (request) => {
      await confirm(deps, request.params.id);
      return show(deps, request.params.id);
    },
  });
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:id/cancel',
    schema: {
      tags,
      summary: 'End a withdrawal that has no attempt yet',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problem },
    },
    handler: async (request) => {
      await cancel(deps, request.params.id);
      return show(deps, request.params.id);
    },
  });
}

function operatorRoutes(deps: WithdrawalRouteDeps, app: App): void {
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:id/paid',
    schema: {
      tags: ['operations'],
      summary: 'End a withdrawal that a payment outside the record has paid',
      description:
        'Only while an alert or a restored record says that it may be paid. It becomes `cancelled` with the reason `paid_already`: give nothing back.',
      params: IdParams,
      body: z.strictObject({ why }),
      response: { 200: WithdrawalBody, ...problem },
    },
    handler: async ({ caller: who, body, params }) => {
      await deps.ledger.withdrawals.get(params.id);
      await endAsPaid(deps, params.id, { who, why: body.why });
      return show(deps, params.id);
    },
  });
}

/** The record first, the motor second: whoever holds a 2xx holds a committed row, and asking again starts what did not start. */
async function ask(
  deps: WithdrawalRouteDeps,
  body: unknown,
): Promise<{ created: boolean; withdrawal: Withdrawal }> {
  const terms = checkTerms(body);
  const { row, created } = await deps.ledger.withdrawals.reserve(terms);
  // Whoever took it for refused, and paid by another way, would pay twice.
  const told = refuseAsRecorded(`withdrawal ${row.id}`, ': ask for this payment under no other id');
  if (!isTerminal(row.status)) await startWithdrawal(deps.temporal, termsOf(row)).catch(told);
  return { created, withdrawal: await show(deps, row.id) };
}

async function show(deps: WithdrawalRouteDeps, id: string): Promise<Withdrawal> {
  const row = await deps.ledger.withdrawals.get(id);
  return presentWithdrawal(row, await deps.ledger.attempts.of(id), deps.explorer);
}
