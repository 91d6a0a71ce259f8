import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SETTLEMENT_ALERTS } from '../../domain/alerts.ts';
import { nextStep, waitsFor } from '../../domain/attempt-progress.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { definitionOf } from '../../domain/settlement-kinds.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import { AlertBody } from '../operations/alerts.ts';
import { route } from '../route.ts';
import { text } from '../schemas.ts';
import { IdParams, Reason, Status, termsFields } from '../withdrawals/withdrawal-schemas.ts';
import { AttemptBody, ExplainedBody, presentAttempt } from './attempts.ts';
import { attemptExplainer, type ExplainAttempt } from './explained-attempt.ts';
import { presentSettlement, SettlementIdQuery, settlementFields } from './settlements.ts';

export const AlertOfSettlement = AlertBody.pick({ position: true, message: true, raisedAt: true }).extend({
  kind: z.enum(SETTLEMENT_ALERTS).describe('Kind of alert'),
});

const explanationFields = {
  waitsFor: text('What the settlement waits for, for display'),
  nextStep: text('What to do next, for display'),
  attempt: ExplainedBody.nullable().describe(
    'Attempt that can still land, or else the last attempt; null if the settlement has no attempt',
  ),
};

const ExplanationBody = z
  .object({
    id: text('Your id for the withdrawal'),
    status: Status.describe('Current status of the withdrawal'),
    reason: Reason,
    ...explanationFields,
  })
  .meta({ id: 'Explanation' });

const SettlementExplanationBody = z
  .object({
    terms: z
      .object(termsFields)
      .nullable()
      .describe('Asset, amount and destination of a withdrawal; null for other kinds'),
    ...settlementFields,
    ...explanationFields,
    attempts: z.array(AttemptBody).readonly().describe('All attempts, oldest first'),
    alerts: z.array(AlertOfSettlement).readonly().describe('Open alerts about this settlement, newest first'),
  })
  .meta({ id: 'SettlementExplanation' });

export interface ExplanationDeps extends ChainDeps {
  readonly explorer: ExplorerSettings;
}

const description =
  'Read-only: shows what the settlement waits for, and which evidence a final verdict still needs.';

export function explanationRoutes(app: FastifyInstance, deps: ExplanationDeps): void {
  const explain = attemptExplainer(deps.chain ?? noChain);
  route(app, 'GET', '/v1/withdrawals/:id/explain', {
    operationId: 'explainWithdrawal',
    tags: ['withdrawals'],
    summary: 'Explain the progress of a withdrawal',
    description,
    params: IdParams,
    response: ExplanationBody,
    handler: async ({ params }) => {
      const { id, status } = await deps.ledger.withdrawals.get(params.id);
      return { ...(await explanationOf(deps, explain, id)), status };
    },
  });
  route(app, 'GET', '/v1/settlements/explain', {
    operationId: 'explainSettlement',
    tags: ['settlements'],
    summary: 'Explain the progress of a settlement of any kind',
    description,
    querystring: SettlementIdQuery,
    response: SettlementExplanationBody,
    handler: ({ query: { id } }) => explanationOf(deps, explain, id),
  });
}

async function explanationOf({ ledger, explorer }: ExplanationDeps, explain: ExplainAttempt, id: string) {
  const row = await ledger.settlementViews.get(id);
  const [attempts, alerts, terms] = await Promise.all([
    ledger.attempts.of(id),
    ledger.alerts.listOpenAbout(id),
    ledger.withdrawals.find(id),
  ]);
  const attempt = await explain(attempts);
  // Null for an unsigned attempt: it waits for the signer, whatever the nodes return about it.
  const verdict = attempt?.state === 'signed' ? attempt.verdict : null;
  const { texts } = definitionOf(row.kind);
  return {
    ...presentSettlement(row),
    terms: terms ?? null,
    waitsFor: waitsFor(texts, row.status, row.reason?.code),
    nextStep: nextStep(texts, row, verdict),
    attempt,
    attempts: attempts.map((each) => presentAttempt(each, explorer)),
    alerts,
  };
}
