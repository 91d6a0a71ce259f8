import type { AttemptEvidence } from '../../client/api.ts';
import { type ExplorerSettings, explorerLink } from '../../domain/explorer.ts';
import { withdrawalWorkflowId } from '../../domain/ids.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import { readProof, type StoredProof } from '../../ledger/settlements/proofs.ts';
import type { WithdrawalRow } from '../../ledger/withdrawals/withdrawals.ts';
import { attemptOfRow } from '../../solana/proof/examine.ts';
import { presentEvidence } from '../settlements/evidence.ts';

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

function presentMessageProof(row: AttemptRow, proof: StoredProof | null): AttemptEvidence | null {
  const { ofMessage = null } = proof ?? {};
  return ofMessage === null
    ? null
    : presentEvidence(attemptOfRow(row, row.messageHash), ofMessage, ofMessage);
}

export function presentAttempt(row: AttemptRow, explorer: ExplorerSettings) {
  const proof = readProof(row.proof);
  return {
    ...row,
    explorer: row.signature === null ? null : explorerLink(row.signature, explorer),
    proof: proof === null ? null : presentEvidence(attemptOfRow(row, row.signature), proof, proof),
    messageProof: presentMessageProof(row, proof),
  };
}
