import type { FastifyInstance } from 'fastify';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { withdrawalWorkflowId } from '../../domain/ids.ts';
import { isTerminal } from '../../domain/settlement.ts';
import { checkTerms } from '../../domain/withdrawal.ts';
import { mapPage } from '../../ledger/page.ts';
import { termsOf, type WithdrawalRow } from '../../ledger/withdrawals/withdrawals.ts';
import { startWithdrawal } from '../../platform/temporal/starts.ts';
import { listRoute, route } from '../route.ts';
import { problems, ReasonBody } from '../schemas.ts';
import { presentAttempt } from '../settlements/attempts.ts';
import { onStartFailure } from '../temporal-errors.ts';
import { type CustomerCommandDeps, cancel, confirm, endAsPaid } from './confirm-cancel.ts';
import { IdParams, listFilter, SummaryBody, TermsBody, WithdrawalBody } from './withdrawal-schemas.ts';

export interface WithdrawalRouteDeps extends CustomerCommandDeps {
  readonly explorer: ExplorerSettings;
}

const tags = ['withdrawals'];

export function withdrawalRoutes(app: FastifyInstance, deps: WithdrawalRouteDeps): void {
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
    // The schema is only for the OpenAPI document: `checkTerms` validates the request, with its own error codes.
    validatorCompiler: () => (value: unknown) => ({ value }),
    handler: async (request, reply) => {
      const { created, withdrawal } = await createWithdrawal(deps, request.body);
      return reply
        .code(created ? 202 : 200)
        .header('location', withdrawal.links.self)
        .send(withdrawal);
    },
  });
  listRoute(app, '/v1/withdrawals', {
    operationId: 'listWithdrawals',
    tags,
    summary: 'List withdrawals, newest first',
    pageId: 'WithdrawalPage',
    itemsField: 'withdrawals',
    item: SummaryBody,
    filter: listFilter,
    find: async (query) => mapPage(await deps.ledger.withdrawals.list(query), presentSummary),
  });
  route(app, 'GET', '/v1/withdrawals/:id', {
    operationId: 'getWithdrawal',
    tags,
    summary: 'Get a withdrawal and its attempts',
    params: IdParams,
    response: WithdrawalBody,
    handler: ({ params }) => show(deps, params.id),
  });
  commandRoutes(app, deps);
}

function commandRoutes(app: FastifyInstance, deps: WithdrawalRouteDeps): void {
  route(app, 'POST', '/v1/withdrawals/:id/confirm', {
    operationId: 'confirmWithdrawal',
    tags,
    summary: 'Confirm a withdrawal that awaits confirmation',
    description: 'Records that the customer has confirmed the destination. Sluice then pays the withdrawal.',
    params: IdParams,
    response: WithdrawalBody,
    handler: async ({ params: { id } }) => {
      await confirm(deps, id);
      return show(deps, id);
    },
  });
  route(app, 'POST', '/v1/withdrawals/:id/cancel', {
    operationId: 'cancelWithdrawal',
    tags,
    summary: 'Cancel a withdrawal',
    description: 'Possible until the first attempt is prepared; afterwards 409 `NotCancellable`.',
    params: IdParams,
    response: WithdrawalBody,
    handler: async ({ params: { id } }) => {
      await cancel(deps, id);
      return show(deps, id);
    },
  });
  route(app, 'POST', '/v1/withdrawals/:id/paid', {
    operationId: 'endWithdrawalAsPaid',
    tags: ['operations'],
    summary: 'Mark a withdrawal as already paid',
    description:
      'For a withdrawal that was paid by a transaction which is not in this database. Allowed only while an open alert, or a restore of the database from a backup, suggests such a payment. The withdrawal becomes `cancelled` with the reason `paid_already`: do not refund the customer.',
    params: IdParams,
    body: ReasonBody,
    response: WithdrawalBody,
    handler: async ({ caller: actor, body, params: { id } }) => {
      await deps.ledger.withdrawals.get(id);
      await endAsPaid(deps, id, { actor, reason: body.reason });
      return show(deps, id);
    },
  });
}

/** Commits the row before the workflow starts: every 2xx has a row, and a retry starts a missing workflow. */
async function createWithdrawal(deps: WithdrawalRouteDeps, body: unknown) {
  const terms = checkTerms(body);
  const { row, created } = await deps.ledger.withdrawals.reserve(terms);
  // The hint is for callers that would take this error for a refusal and pay again under another id.
  const asStored = onStartFailure(`withdrawal ${row.id}`, ': do not request this payment with another id');
  if (!isTerminal(row.status)) await startWithdrawal(deps.temporal, termsOf(row)).catch(asStored);
  return { created, withdrawal: await show(deps, row.id) };
}

async function show(deps: WithdrawalRouteDeps, id: string) {
  const row = await deps.ledger.withdrawals.get(id);
  const attempts = await deps.ledger.attempts.of(id);
  return {
    ...presentSummary(row),
    attempts: attempts.map((attempt) => presentAttempt(attempt, deps.explorer)),
  };
}

function presentSummary(row: WithdrawalRow) {
  const self = `/v1/withdrawals/${encodeURIComponent(row.id)}`;
  const links = { self, confirm: `${self}/confirm`, cancel: `${self}/cancel` };
  return { ...row, workflowId: withdrawalWorkflowId(row.id), links };
}
