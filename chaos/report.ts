import type { DepositAudit } from './deposits/audit.ts';
import { FAULT_KINDS, faultNames } from './kinds.ts';
import type { PaymentAudit } from './payments/audit.ts';
import type { ChaosReport } from './run.ts';

/** The readable report: the injected faults, then the results; the last line is whether the run passed. */
export function renderReport(report: ChaosReport): string {
  const names = faultNames({
    deposits: report.deposits !== undefined,
    payments: report.payments !== undefined,
  });
  const width = Math.max(...names.map((name) => name.length));
  const faults = names.map(
    (name) =>
      `  ${name.padEnd(width)}  ${count(report.faults[name])}  ${count(report.met[name])}  ${FAULT_KINDS[name].what}`,
  );
  const { withdrawals, finalized, transfersOnChain, duplicates, lost, deadAttempts } = report;
  return [
    `  ${'fault'.padEnd(width)}  injected       met`,
    ...faults,
    '',
    `${withdrawals} withdrawals, ${finalized} finalized, ${transfersOnChain} transfers on chain, ${duplicates} duplicates, ${lost} lost, ${deadAttempts} attempts proved dead`,
    ...(report.deposits === undefined ? [] : [depositsLine(report.deposits)]),
    ...(report.payments === undefined ? [] : [paymentsLine(report.payments)]),
    verdict(report.findings.length),
  ].join('\n');
}

function verdict(findings: number): string {
  return findings === 0
    ? 'passed: the blocks and the database agree'
    : `failed: ${findings} findings, one in each line above that begins with "wrong:"`;
}

function depositsLine({ made, credited, duplicates, missed }: DepositAudit): string {
  return `${made} deposits on chain, ${credited} credited, ${duplicates} duplicates, ${missed} missed`;
}

function paymentsLine(audit: PaymentAudit): string {
  const { made, served, refundable, unpaidAnswers, lost, servedTwice, passes } = audit;
  return `${made} payments on chain, ${served} served, ${refundable} refundable, ${unpaidAnswers} answers without a payment, ${lost} lost, ${servedTwice} served twice, ${passes} requests served by access passes`;
}

function count(times = 0): string {
  return String(times).padStart(8);
}
