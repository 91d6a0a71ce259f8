import type { FastifyInstance } from 'fastify';
import { nextStep, waitsFor } from '../../domain/attempt-progress.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import { route } from '../route.ts';
import { presentAttempt } from '../withdrawals/present.ts';
import { IdParams } from '../withdrawals/withdrawal-schemas.ts';
import { attemptExplainer, type ExplainAttempt } from './explained-attempt.ts';
import { ExplanationBody, SettlementExplanationBody } from './explanation-schemas.ts';
import { SettlementIdQuery } from './settlement-schemas.ts';
import { presentSettlement } from './settlements.ts';

export interface ExplanationDeps extends ChainDeps {
  readonly explorer: ExplorerSettings;
}

const description =
  'Read-only. No request can make Sluice sign another attempt before the last one is proved dead.';

/** Explains a live attempt by current node answers, or an ended one by its stored proof. Read-only. */
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
    ledger.alerts.openAbout(id),
    row.kind === WITHDRAWAL ? ledger.withdrawals.get(id) : null,
  ]);
  const attempt = await explain(attempts);
  // An unsigned attempt waits for the signer, whatever the nodes return about it.
  const verdict = attempt?.state === 'signed' ? attempt.verdict : null;
  return {
    ...presentSettlement(row),
    terms,
    waitsFor: waitsFor(row.kind, row.status, row.reason?.code),
    nextStep: nextStep(row.kind, row, verdict),
    attempt,
    attempts: attempts.map((each) => presentAttempt(each, explorer)),
    alerts,
  };
}
