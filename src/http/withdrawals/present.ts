import type { AttemptEvidence } from '../../client/evidence.ts';
import type { Attempt, Withdrawal, WithdrawalSummary } from '../../client/types.ts';
import { type ExplorerSettings, explorerLink } from '../../domain/explorer.ts';
import { withdrawalWorkflowId } from '../../domain/ids.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import { readProof, type StoredProof } from '../../ledger/settlements/proofs.ts';
import type { WithdrawalRow } from '../../ledger/withdrawals/withdrawals.ts';
import { attemptOfRow } from '../../solana/proof/examine.ts';
import { presentEvidence } from '../settlements/evidence.ts';

export function presentSummary(row: WithdrawalRow): WithdrawalSummary {
  const self = `/v1/withdrawals/${encodeURIComponent(row.id)}`;
  return {
    id: row.id,
    status: row.status,
    reason: row.reason,
    asset: row.asset,
    amount: row.amount.toString(),
    amountReceived: row.amountReceived?.toString() ?? null,
    destination: row.destination,
    acceptEmptyWallet: row.acceptEmptyWallet,
    memo: row.memo,
    confirmedByCustomer: row.confirmedByCustomer,
    workflowId: withdrawalWorkflowId(row.id),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    links: { self, confirm: `${self}/confirm`, cancel: `${self}/cancel` },
  };
}

export function presentWithdrawal(
  row: WithdrawalRow,
  attempts: readonly AttemptRow[],
  explorer: ExplorerSettings,
): Withdrawal {
  return { ...presentSummary(row), attempts: attempts.map((attempt) => presentAttempt(attempt, explorer)) };
}

function presentMessageProof(row: AttemptRow, proof: StoredProof | null): AttemptEvidence | null {
  const { ofMessage = null } = proof ?? {};
  return ofMessage === null
    ? null
    : presentEvidence(attemptOfRow(row, row.messageHash), ofMessage, ofMessage);
}

export function presentAttempt(row: AttemptRow, explorer: ExplorerSettings): Attempt {
  const proof = readProof(row.proof);
  return {
    n: row.n,
    state: row.state,
    signature: row.signature,
    blockhash: row.blockhash,
    lastValidBlockHeight: row.lastValidBlockHeight?.toString() ?? null,
    nonceAccount: row.nonceAccount,
    feeLamports: row.feeLamports.toString(),
    rentLamports: row.rentLamports.toString(),
    slot: row.slot?.toString() ?? null,
    error: row.error,
    explorer: row.signature === null ? null : explorerLink(row.signature, explorer),
    proof: proof === null ? null : presentEvidence(attemptOfRow(row, row.signature), proof, proof),
    messageProof: presentMessageProof(row, proof),
    createdAt: row.createdAt.toISOString(),
  };
}
