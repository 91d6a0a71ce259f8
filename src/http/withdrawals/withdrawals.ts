import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Withdrawal } from '../../client/types.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { isTerminal } from '../../domain/settlement.ts';
import { checkTerms } from '../../domain/terms.ts';
import { termsOf } from '../../ledger/withdrawals/withdrawals.ts';
import { startWithdrawal } from '../../platform/temporal/start-withdrawal.ts';
import { problems, reason } from '../schemas.ts';
import { refuseAsRecorded } from '../temporal-errors.ts';
import { type CustomerOrderDeps, cancel, confirm, endAsPaid } from './confirm-cancel.ts';
import { presentSummary, presentWithdrawal } from './present.ts';
import { IdParams, ListQuery, PageBody, TermsBody, WithdrawalBody } from './withdrawal-schemas.ts';

export interface WithdrawalRouteDeps extends CustomerOrderDeps {
  readonly explorer: ExplorerSettings;
}

const tags = ['withdrawals'];

export function withdrawalRoutes(deps: WithdrawalRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/withdrawals',
      schema: {
        operationId: 'createWithdrawal',
        tags,
        summary: 'Create a withdrawal',
        description:
          '202: the withdrawal is new and stored. 200: a withdrawal with this id and these terms exists; the response has its current state. 409 `TermsConflict`: the id belongs to a withdrawal with other terms.',
        body: TermsBody,
        response: { 200: WithdrawalBody, 202: WithdrawalBody, ...problems },
      },
      // The schema serves only the OpenAPI document: `checkTerms` validates requests of every API alike.
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
    customerRoutes(deps, app);
    operatorRoutes(deps, app);
  };
}

type App = Parameters<FastifyPluginAsyncZod>[0];

function readRoutes(deps: WithdrawalRouteDeps, app: App): void {
  app.route({
    method: 'GET',
    url: '/v1/withdrawals',
    schema: {
      operationId: 'listWithdrawals',
      tags,
      summary: 'List withdrawals, newest first',
      querystring: ListQuery,
      response: { 200: PageBody, ...problems },
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
      operationId: 'getWithdrawal',
      tags,
      summary: 'Get a withdrawal and its attempts',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problems },
    },
    handler: (request) => show(deps, request.params.id),
  });
}

function customerRoutes(deps: WithdrawalRouteDeps, app: App): void {
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:id/confirm',
    schema: {
      operationId: 'confirmWithdrawal',
      tags,
      summary: 'Confirm a withdrawal that awaits confirmation',
      description: 'Sluice then pays the destination, although its account is empty or is a vault.',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problems },
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
      operationId: 'cancelWithdrawal',
      tags,
      summary: 'Cancel a withdrawal',
      description: 'Possible until the first attempt is prepared; afterwards 409 `NotCancellable`.',
      params: IdParams,
      response: { 200: WithdrawalBody, ...problems },
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
      operationId: 'endWithdrawalAsPaid',
      tags: ['operations'],
      summary: 'Mark a withdrawal as already paid',
      description:
        'For a withdrawal that a payment unknown to this database has paid. Allowed only while an open alert, or a restore of the database from a backup, suggests such a payment. The withdrawal becomes `cancelled` with the reason `paid_already`: do not refund the customer.',
      params: IdParams,
      body: z.strictObject({ reason }),
      response: { 200: WithdrawalBody, ...problems },
    },
    handler: async ({ caller: actor, body, params }) => {
      await deps.ledger.withdrawals.get(params.id);
      await endAsPaid(deps, params.id, { actor, reason: body.reason });
      return show(deps, params.id);
    },
  });
}

/** PostgreSQL first, then Temporal: every 2xx has a committed row, and a retry starts a missing workflow. */
async function ask(
  deps: WithdrawalRouteDeps,
  body: unknown,
): Promise<{ created: boolean; withdrawal: Withdrawal }> {
  const terms = checkTerms(body);
  const { row, created } = await deps.ledger.withdrawals.reserve(terms);
  // A caller that treated this error as a refusal, and paid in another way, would pay twice.
  const told = refuseAsRecorded(`withdrawal ${row.id}`, ': ask for this payment under no other id');
  if (!isTerminal(row.status)) await startWithdrawal(deps.temporal, termsOf(row)).catch(told);
  return { created, withdrawal: await show(deps, row.id) };
}

async function show(deps: WithdrawalRouteDeps, id: string): Promise<Withdrawal> {
  const row = await deps.ledger.withdrawals.get(id);
  return presentWithdrawal(row, await deps.ledger.attempts.of(id), deps.explorer);
}
