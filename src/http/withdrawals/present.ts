import { type ExplorerSettings, explorerLink } from '../../domain/explorer.ts';
import { withdrawalWorkflowId } from '../../domain/ids.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import type { WithdrawalRow } from '../../ledger/withdrawals/withdrawals.ts';
import { proofsOf } from '../settlements/evidence-schemas.ts';

export function presentSummary(row: WithdrawalRow) {
  const self = `/v1/withdrawals/${encodeURIComponent(row.id)}`;
  const links = { self, confirm: `${self}/confirm`, cancel: `${self}/cancel` };
  return { ...row, workflowId: withdrawalWorkflowId(row.id), links };
}

export function presentWithdrawal(
  row: WithdrawalRow,
  attempts: readonly AttemptRow[],
  explorer: ExplorerSettings,
) {
  return { ...presentSummary(row), attempts: attempts.map((attempt) => presentAttempt(attempt, explorer)) };
}

export function presentAttempt(row: AttemptRow, explorer: ExplorerSettings) {
  const link = row.signature === null ? null : explorerLink(row.signature, explorer);
  return { ...row, explorer: link, ...proofsOf(row) };
}
