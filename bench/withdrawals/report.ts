import { latencyMs, merge, perSecond } from '../load.ts';
import { total } from '../tally.ts';
import type { WithdrawalsMeasurement } from './measure.ts';

/** The figures of one run. */
export interface WithdrawalsReport {
  readonly withdrawalsPerSecond: number;
  readonly baselineWorkflowsPerSecond: number;
  /** The first divided by the second. */
  readonly ratio: number;
  /** The longest history among the withdrawals. */
  readonly historyEvents: number;
  /** HTTP requests of the chain worker to all nodes, shared ones included, divided by the withdrawals. */
  readonly rpcCallsPerWithdrawal: number;
  readonly rpcCallsByMethod: Readonly<Record<string, number>>;
  readonly withdrawals: number;
  readonly transfersOnChain: number;
  readonly inFlight: number;
  readonly chain: { readonly slotMs: number; readonly finalityLag: number; readonly finalityMs: number };
  readonly latency: {
    readonly p50Ms: number;
    readonly p99Ms: number;
    /** As multiples of the chain's own time to finality. */
    readonly p50Finalities: number;
    readonly p99Finalities: number;
  };
  readonly baselineLatency: { readonly p50Ms: number; readonly p99Ms: number };
}

export function reportOf(seen: WithdrawalsMeasurement): WithdrawalsReport {
  const paid = merge(seen.withdrawals.map(({ load }) => load));
  const bare = merge(seen.baselines);
  const { slotMs, finalityLag, inFlight } = seen.plan;
  const finalityMs = slotMs * finalityLag;
  const [p50Ms, p99Ms] = [latencyMs(paid, 0.5), latencyMs(paid, 0.99)];
  const rpc = sumByMethod(seen);
  return {
    withdrawalsPerSecond: round(perSecond(paid)),
    baselineWorkflowsPerSecond: round(perSecond(bare)),
    ratio: round(perSecond(paid) / perSecond(bare)),
    historyEvents: Math.max(...seen.historyEvents),
    rpcCallsPerWithdrawal: round(total(rpc) / paid.count),
    rpcCallsByMethod: Object.fromEntries(
      Object.entries(rpc).map(([method, calls]) => [method, round(calls / paid.count)]),
    ),
    withdrawals: paid.count,
    transfersOnChain: seen.transfersOnChain,
    inFlight,
    chain: { slotMs, finalityLag, finalityMs },
    latency: {
      p50Ms: Math.round(p50Ms),
      p99Ms: Math.round(p99Ms),
      p50Finalities: round(p50Ms / finalityMs),
      p99Finalities: round(p99Ms / finalityMs),
    },
    baselineLatency: {
      p50Ms: Math.round(latencyMs(bare, 0.5)),
      p99Ms: Math.round(latencyMs(bare, 0.99)),
    },
  };
}

/** The readable report: each figure with its target. */
export function renderReport(report: WithdrawalsReport): string {
  const { chain, latency, baselineLatency, inFlight } = report;
  const methods = Object.entries(report.rpcCallsByMethod).map(([method, calls]) => `${method} ${calls}`);
  return [
    `${report.withdrawals} withdrawals, ${inFlight} in flight, on slots of ${chain.slotMs} ms, finalized after ${chain.finalityLag} (${chain.finalityMs} ms)`,
    `withdrawals/s           ${report.withdrawalsPerSecond}`,
    `bare workflows/s        ${report.baselineWorkflowsPerSecond}`,
    `ratio                   ${report.ratio} (aim >= 0.55)`,
    `history events          ${report.historyEvents} (aim <= 26)`,
    `RPC calls a withdrawal  ${report.rpcCallsPerWithdrawal} (aim <= 4): ${methods.join(', ')}`,
    `latency                 p50 ${latency.p50Ms} ms = ${latency.p50Finalities} x finality, p99 ${latency.p99Ms} ms = ${latency.p99Finalities} x`,
    `latency of the bare one p50 ${baselineLatency.p50Ms} ms, p99 ${baselineLatency.p99Ms} ms`,
    `transfers on chain      ${report.transfersOnChain} of ${report.withdrawals}`,
  ].join('\n');
}

function sumByMethod({ withdrawals }: WithdrawalsMeasurement): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const { rpc } of withdrawals)
    for (const [method, calls] of Object.entries(rpc)) sums.set(method, (sums.get(method) ?? 0) + calls);
  return Object.fromEntries([...sums].toSorted(([, a], [, b]) => b - a));
}

function round(value: number): number {
  return Number(value.toFixed(3));
}
