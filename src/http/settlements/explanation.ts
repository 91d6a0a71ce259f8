import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Explanation } from '../../client/evidence.ts';
import type { SettlementExplanation } from '../../client/settlements.ts';
import { nextStep, waitsFor } from '../../domain/attempt-progress.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AlertRow } from '../../ledger/operations/alerts.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../../ledger/settlements/settlements.ts';
import type { Chain } from '../../solana/chain.ts';
import { noChain } from '../no-chain.ts';
import { problems } from '../schemas.ts';
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
  deps: ExplanationDeps & { readonly explorer: ExplorerSettings },
): FastifyPluginAsyncZod {
  const { ledger, chain = noChain, explorer } = deps;
  const explain = attemptExplainer(chain);
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/withdrawals/:id/explain',
      schema: {
        operationId: 'explainWithdrawal',
        tags: ['withdrawals'],
        summary: 'Explain the progress of a withdrawal',
        description,
        params: IdParams,
        response: { 200: ExplanationBody, ...problems },
      },
      handler: ({ params: { id } }) => explainWithdrawal(ledger, explain, id),
    });
    app.route({
      method: 'GET',
      url: '/v1/settlements/explain',
      schema: {
        operationId: 'explainSettlement',
        tags: ['settlements'],
        summary: 'Explain the progress of a settlement of any kind',
        description,
        querystring: SettlementIdQuery,
        response: { 200: SettlementExplanationBody, ...problems },
      },
      handler: ({ query: { id } }) => explainSettlement(ledger, explain, explorer, id),
    });
  };
}

async function explainWithdrawal(ledger: Ledger, explain: ExplainAttempt, id: string): Promise<Explanation> {
  const { status, reason } = await ledger.withdrawals.get(id);
  const attempts = await ledger.attempts.of(id);
  return { id, status, reason, ...(await factsOf({ kind: WITHDRAWAL, status, reason }, attempts, explain)) };
}

async function explainSettlement(
  ledger: Ledger,
  explain: ExplainAttempt,
  explorer: ExplorerSettings,
  id: string,
): Promise<SettlementExplanation> {
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
    alerts: alerts.map(presentAlert),
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

async function termsShown(
  ledger: Ledger,
  { id, kind }: SettlementRow,
): Promise<SettlementExplanation['terms']> {
  if (kind !== WITHDRAWAL) return null;
  const { asset, amount, destination } = await ledger.withdrawals.get(id);
  return { asset, amount: amount.toString(), destination };
}

function presentAlert({ position, kind, message, raisedAt }: AlertRow) {
  return { position: position.toString(), kind, message, raisedAt: raisedAt.toISOString() };
}
