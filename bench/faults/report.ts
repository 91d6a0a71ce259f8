import { latencyMs } from '../load.ts';
import { total } from '../tally.ts';
import type { FaultsMeasurement, FaultsRound } from './measure.ts';

/** The figures at one share of lost answers. Times run from request to finalized. */
export interface FaultsCase {
  readonly lostPercent: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** As multiples of the chain's own time to finality. */
  readonly medianFinalities: number;
  readonly p99Finalities: number;
  /** HTTP requests of the chain worker to all nodes, divided by the withdrawals. */
  readonly rpcCallsPerWithdrawal: number;
}

/** The figures of one run. */
export interface FaultsReport {
  readonly withdrawals: number;
  readonly transfersOnChain: number;
  readonly finalityMs: number;
  readonly cases: readonly FaultsCase[];
}

export function reportOf({ plan, rounds, transfersOnChain }: FaultsMeasurement): FaultsReport {
  const finalityMs = plan.slotMs * plan.finalityLag;
  return {
    withdrawals: rounds.reduce((sum, { load }) => sum + load.count, 0),
    transfersOnChain,
    finalityMs,
    cases: rounds.map((measured) => caseOf(measured, finalityMs)),
  };
}

/** The readable report, one line for each share. */
export function renderFaults({ cases, finalityMs, withdrawals, transfersOnChain }: FaultsReport): string {
  return [
    `from request to finalized, in multiples of the chain's own ${finalityMs} ms to finality`,
    'answers lost   median     p99   RPC calls a withdrawal',
    ...cases.map(
      (one) =>
        `${String(one.lostPercent).padStart(10)} %  ${pad(one.medianFinalities)}  ${pad(one.p99Finalities)}   ${one.rpcCallsPerWithdrawal}`,
    ),
    `transfers on chain: ${transfersOnChain} of ${withdrawals}`,
  ].join('\n');
}

function caseOf({ lost, load, rpc }: FaultsRound, finalityMs: number): FaultsCase {
  const [median, p99] = [latencyMs(load, 0.5), latencyMs(load, 0.99)];
  return {
    lostPercent: lost * 100,
    medianMs: Math.round(median),
    p99Ms: Math.round(p99),
    medianFinalities: round(median / finalityMs),
    p99Finalities: round(p99 / finalityMs),
    rpcCallsPerWithdrawal: round(total(rpc) / load.count),
  };
}

function round(value: number): number {
  return Number(value.toFixed(2));
}

function pad(multiple: number): string {
  return `${multiple.toFixed(2)} x`.padStart(8);
}
