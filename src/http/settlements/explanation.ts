import type { FastifyInstance } from 'fastify';
import { nextStep, waitsFor } from '../../domain/attempt-progress.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../../ledger/settlements/settlements.ts';
import type { Chain } from '../../solana/chain.ts';
import { noChain } from '../no-chain.ts';
import { route } from '../route.ts';
import { presentAttempt } from '../withdrawals/present.ts';
import { IdParams } from '../withdrawals/withdrawal-schemas.ts';
import { attemptExplainer, type ExplainAttempt } from './explained-attempt.ts';
import { ExplanationBody, SettlementExplanationBody } from './explanation-schemas.ts';
import { SettlementIdQuery } from './settlement-schemas.ts';
import { presentSettlement } from './settlements.ts';

export interface ExplanationDeps {
  readonly ledger: Ledger;
  /** The nodes; rejects without a quorum. Without nodes the explanation has only stored data. */
  readonly chain?: () => Promise<Chain>;
}

const description =
  'Read-only. No request can make Sluice sign another attempt before the last one is proved dead.';

/** Explains a live attempt by current node answers, or an ended one by its stored proof. Read-only. */
export function explanationRoutes(
  app: FastifyInstance,
  { ledger, chain = noChain, explorer }: ExplanationDeps & { readonly explorer: ExplorerSettings },
): void {
  const explain = attemptExplainer(chain);
  route(app, 'GET', '/v1/withdrawals/:id/explain', {
    operationId: 'explainWithdrawal',
    tags: ['withdrawals'],
    summary: 'Explain the progress of a withdrawal',
    description,
    params: IdParams,
    response: ExplanationBody,
    handler: ({ params: { id } }) => explainWithdrawal(ledger, explain, id),
  });
  route(app, 'GET', '/v1/settlements/explain', {
    operationId: 'explainSettlement',
    tags: ['settlements'],
    summary: 'Explain the progress of a settlement of any kind',
    description,
    querystring: SettlementIdQuery,
    response: SettlementExplanationBody,
    handler: ({ query: { id } }) => explainSettlement(ledger, explain, explorer, id),
  });
}

async function explainWithdrawal(ledger: Ledger, explain: ExplainAttempt, id: string) {
  const { status, reason } = await ledger.withdrawals.get(id);
  const attempts = await ledger.attempts.of(id);
  return { id, status, reason, ...(await factsOf({ kind: WITHDRAWAL, status, reason }, attempts, explain)) };
}

async function explainSettlement(
  ledger: Ledger,
  explain: ExplainAttempt,
  explorer: ExplorerSettings,
  id: string,
) {
  const row = await ledger.settlementViews.get(id);
  const [attempts, alerts, terms] = await Promise.all([
    ledger.attempts.of(id),
    ledger.alerts.openAbout(id),
    termsShown(ledger, row),
  ]);
  return {
    terms,
    ...presentSettlement(row),
    ...(await factsOf(row, attempts, explain)),
    attempts: attempts.map((attempt) => presentAttempt(attempt, explorer)),
    alerts,
  };
}

async function factsOf(
  row: Pick<SettlementRow, 'kind' | 'status' | 'reason'>,
  attempts: readonly AttemptRow[],
  explain: ExplainAttempt,
) {
  const attempt = await explain(attempts);
  // An unsigned attempt waits for the signer, whatever the nodes return about it.
  const verdict = attempt?.state === 'signed' ? attempt.verdict : null;
  return {
    waitsFor: waitsFor(row.kind, row.status, row.reason?.code),
    nextStep: nextStep(row.kind, row, verdict),
    attempt,
  };
}

async function termsShown(ledger: Ledger, { id, kind }: SettlementRow) {
  return kind === WITHDRAWAL ? ledger.withdrawals.get(id) : null;
}
