import { latencyMs, merge, perSecond } from '../load.ts';
import { type CallTally, total } from '../tally.ts';
import { LEVELS, type LoadLevel, type Turn, type X402Measurement } from './measure.ts';
import type { Phases } from './phases.ts';

/** One seller with one number of requests in flight. */
interface Side {
  readonly payments: number;
  /** Of them, answered before their settlement. */
  readonly unserved: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly perSecond: number;
  readonly rpcCalls: number;
  readonly rpcCallsToFinal: number;
  readonly rpcByMethod: CallTally;
  readonly rpcByMethodToFinal: CallTally;
  readonly servingCpuMs: number;
  /** Of Temporal and PostgreSQL. */
  readonly supportingCpuMs: number;
  /** Of each round; none where the seller keeps no record. */
  readonly phases: readonly Phases[];
}

/** The figures of one run. Ratios are ours divided by theirs; counts and CPU time are for one payment. */
export interface X402Report {
  /** With one request in flight, as is `p95Ratio`. */
  readonly p50Ratio: number;
  readonly p95Ratio: number;
  readonly p50Ratio16: number;
  readonly throughputRatio16: number;
  readonly throughputRatio64: number;
  /** With 16 in flight, as are the three figures that follow. */
  readonly rpcCallsPerPayment: number;
  readonly rpcCallsToFinal: number;
  readonly peerRpcCallsPerPayment: number;
  readonly paymentsPerSecond: number;
  readonly idleRpcPerSecond: number;
  readonly levels: readonly { readonly inFlight: LoadLevel; readonly ours: Side; readonly theirs: Side }[];
  readonly paid: X402Measurement['paid'];
  readonly finalized: X402Measurement['finalized'];
}

export function reportOf({ turns, idleRpcPerSecond, paid, finalized }: X402Measurement): X402Report {
  const side = (name: Turn['seller'], level: LoadLevel) =>
    sideOf(turns.filter((turn) => turn.seller === name && turn.level === level));
  const pair = (inFlight: LoadLevel) => ({
    inFlight,
    ours: side('ours', inFlight),
    theirs: side('theirs', inFlight),
  });
  const [one, some, many] = [pair(1), pair(16), pair(64)];
  return {
    p50Ratio: round(one.ours.p50Ms / one.theirs.p50Ms),
    p95Ratio: round(one.ours.p95Ms / one.theirs.p95Ms),
    p50Ratio16: round(some.ours.p50Ms / some.theirs.p50Ms),
    throughputRatio16: round(some.ours.perSecond / some.theirs.perSecond),
    throughputRatio64: round(many.ours.perSecond / many.theirs.perSecond),
    rpcCallsPerPayment: some.ours.rpcCalls,
    rpcCallsToFinal: some.ours.rpcCallsToFinal,
    peerRpcCallsPerPayment: some.theirs.rpcCalls,
    paymentsPerSecond: some.ours.perSecond,
    idleRpcPerSecond,
    levels: LEVELS.map(pair),
    paid,
    finalized,
  };
}

/** The readable report: each figure with its target. */
export function renderReport(report: X402Report): string {
  const lines = report.levels.flatMap(({ inFlight, ours, theirs }) => [
    `${inFlight} in flight`,
    `  ours    ${sideLine(ours)}`,
    `  theirs  ${sideLine(theirs)}`,
  ]);
  return [
    `p50 alone         ${report.p50Ratio} x theirs (aim <= 1.0), p95 ${report.p95Ratio} x`,
    `throughput        ${report.throughputRatio16} x theirs at 16 in flight (aim >= 1.0), ${report.throughputRatio64} x at 64`,
    `RPC until answer  ${report.rpcCallsPerPayment} a payment (aim <= 2.2), theirs ${report.peerRpcCallsPerPayment}`,
    `RPC until final   ${report.rpcCallsToFinal} a payment (aim <= 3.2)`,
    `RPC without load  ${report.idleRpcPerSecond} a second`,
    ...lines,
    `transfers         ours ${report.finalized.ours} of ${report.paid.ours}, theirs ${report.finalized.theirs} of ${report.paid.theirs}`,
  ].join('\n');
}

function sideLine(side: Side): string {
  const methods = Object.entries(side.rpcByMethodToFinal).map(([method, calls]) => `${method} ${calls}`);
  return [
    `${side.unserved} of ${side.payments} unserved, p50 ${side.p50Ms} ms, p95 ${side.p95Ms} ms, ${side.perSecond}/s`,
    `CPU ${side.servingCpuMs} + ${side.supportingCpuMs} ms`,
    `RPC ${side.rpcCalls}, ${side.rpcCallsToFinal} until final: ${methods.join(', ')}`,
  ].join('; ');
}

function sideOf(turns: readonly Turn[]): Side {
  const load = merge(turns.map((turn) => turn.load));
  const each = (sum: number) => round(sum / load.count);
  const byMethod = (tallies: readonly CallTally[]): CallTally => {
    const names = new Set(tallies.flatMap((tally) => Object.keys(tally)));
    return Object.fromEntries(
      [...names].map((name) => [name, each(tallies.reduce((sum, tally) => sum + (tally[name] ?? 0), 0))]),
    );
  };
  const [rpc, final] = [turns.map((turn) => turn.rpc), turns.map((turn) => turn.rpcToFinal)];
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  return {
    payments: load.count,
    unserved: sum(turns.map((turn) => turn.unserved)),
    p50Ms: Math.round(latencyMs(load, 0.5)),
    p95Ms: Math.round(latencyMs(load, 0.95)),
    perSecond: round(perSecond(load)),
    rpcCalls: each(sum(rpc.map(total))),
    rpcCallsToFinal: each(sum(final.map(total))),
    rpcByMethod: byMethod(rpc),
    rpcByMethodToFinal: byMethod(final),
    servingCpuMs: each(1_000 * sum(turns.map((turn) => turn.servingCpuSeconds))),
    phases: turns.flatMap((turn) => turn.phases ?? []),
    supportingCpuMs: each(1_000 * sum(turns.map((turn) => turn.supportingCpuSeconds))),
  };
}

function round(value: number): number {
  return Number(value.toFixed(3));
}
