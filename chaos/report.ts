import { FAULT_KINDS, FAULT_NAMES } from './kinds.ts';
import type { ChaosReport } from './run.ts';

/** The report for people: what was injected, then what is true after it. */
export function renderReport(report: ChaosReport): string {
  const width = Math.max(...FAULT_NAMES.map((name) => name.length));
  const faults = FAULT_NAMES.map(
    (name) =>
      `  ${name.padEnd(width)}  ${String(report.faults[name]).padStart(3)}  ${FAULT_KINDS[name].what}`,
  );
  const { withdrawals, finalized, transfersOnChain, duplicates, lost } = report;
  return [
    'faults injected and survived',
    ...faults,
    '',
    `${withdrawals} withdrawals, ${finalized} finalized, ${transfersOnChain} transfers on chain, ${duplicates} duplicates, ${lost} lost`,
  ].join('\n');
}
