import pc from 'picocolors';
import type { Attempt, Withdrawal, WithdrawalSummary } from '../client/client.ts';
import { describeAmount, formatLamports } from '../domain/amount.ts';
import type { SettlementStatus } from '../domain/settlement.ts';
import { renderDeadProof } from './evidence.ts';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
const onTerminal = process.stdout.isTTY === true && TERM !== 'dumb';

/** Colors only on a terminal, because scripts parse the output of pipes, logs and CI. */
const colors = pc.createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || onTerminal));

const COLOR: Readonly<Partial<Record<SettlementStatus, (text: string) => string>>> = {
  finalized: colors.green,
  confirmed: colors.cyan,
  rejected: colors.red,
  failed: colors.red,
  dead: colors.red,
  cancelled: colors.yellow,
  held: colors.yellow,
  awaiting_confirmation: colors.yellow,
  awaiting_funds: colors.yellow,
};

export function renderStep(withdrawal: Withdrawal): string {
  const signature = withdrawal.attempts.at(-1)?.signature;
  const parts = [renderStatus(withdrawal.status)];
  if (withdrawal.reason !== null) parts.push(withdrawal.reason.message);
  if (signature !== undefined && signature !== null) parts.push(signature);
  return [...parts, ...nextStep(withdrawal)].join('  ');
}

export function nextStep({ id, status, confirmedByCustomer }: WithdrawalSummary): readonly string[] {
  if (status !== 'awaiting_confirmation') return [];
  return [
    confirmedByCustomer
      ? `confirmed, and continues; see: sluice withdrawals get ${id}`
      : `confirm with: sluice withdrawals confirm ${id}`,
  ];
}

export function renderWithdrawal(withdrawal: Withdrawal): string {
  const lines = [
    `${withdrawal.id}  ${renderStatus(withdrawal.status)}`,
    `  pays       ${describeAmount(withdrawal)} to ${withdrawal.destination}`,
  ];
  if (withdrawal.amountReceived !== null && withdrawal.amountReceived !== withdrawal.amount) {
    lines.push(`  received   ${withdrawal.amountReceived} base units`);
  }
  if (withdrawal.reason !== null)
    lines.push(`  reason     ${withdrawal.reason.message} (${withdrawal.reason.code})`);
  for (const step of nextStep(withdrawal)) lines.push(`  next       ${step}`);
  for (const attempt of withdrawal.attempts) lines.push(...renderAttempt(attempt));
  lines.push(`  workflow   ${withdrawal.workflowId}`);
  return lines.join('\n');
}

export function renderAttempt(attempt: Attempt): string[] {
  const fee = `fee ${formatLamports(BigInt(attempt.feeLamports))} SOL`;
  const lines = [
    `  attempt ${attempt.n}  ${attempt.state}  ${attempt.signature ?? 'not signed yet'}  ${fee}`,
  ];
  if (attempt.error !== null) lines.push(`             ${attempt.error}`);
  if (attempt.state === 'dead' && attempt.proof !== null)
    lines.push(`             proof: ${renderDeadProof(attempt.proof)}`);
  if (attempt.messageProof !== null)
    lines.push(`             under any other signature: ${renderDeadProof(attempt.messageProof)}`);
  if (attempt.explorer !== null) lines.push(`             ${attempt.explorer}`);
  return lines;
}

export function renderStatus(status: SettlementStatus): string {
  return (COLOR[status] ?? String)(status);
}
