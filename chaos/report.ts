import { FAULT_KINDS, FAULT_NAMES } from './kinds.ts';
import type { ChaosReport } from './run.ts';

/** The report for people: what was injected, then what is true after it. */
export function renderReport(report: ChaosReport): string {
  const width = Math.max(...FAULT_NAMES.map((name) => name.length));
  const faults = FAULT_NAMES.map(
    (name) =>
      `  ${name.padEnd(width)}  ${count(report.faults[name])}  ${count(report.met[name])}  ${FAULT_KINDS[name].what}`,
  );
  const { withdrawals, finalized, transfersOnChain, duplicates, lost, deadAttempts } = report;
  return [
    `faults survived${' '.repeat(Math.max(0, width - 13))}  injected  met`,
    ...faults,
    '',
    `${withdrawals} withdrawals, ${finalized} finalized, ${transfersOnChain} transfers on chain, ${duplicates} duplicates, ${lost} lost, ${deadAttempts} attempts proved dead`,
  ].join('\n');
}

function count(times: number): string {
  return String(times).padStart(8);
}
