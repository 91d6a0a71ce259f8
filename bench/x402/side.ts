import { latencyMs, merge } from '../load.ts';
import { type CallTally, total } from '../tally.ts';
import { type Costs, ownCpuMs } from './costs.ts';
import { SERVED } from './payments.ts';
import type { Turn } from './turns.ts';

/** One seller under one load. Costs are those of one payment. */
export interface Side {
  readonly payments: number;
  readonly served: number;
  /** Answers without the resource, by answer. */
  readonly notServed: CallTally;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Served payments. */
  readonly perSecond: number;
  readonly untilAnswer: SideCosts;
  readonly untilFinal: SideCosts;
}

/** Costs of one payment. */
export interface SideCosts {
  /** Of the seller's processes, with Temporal and PostgreSQL. */
  readonly cpuMs: number;
  /** The same, and the chain and the driver with its proxies and our upstream. */
  readonly machineCpuMs: number;
  readonly cpuMsByProcess: CallTally;
  readonly rpcCalls: number;
  readonly rpcByMethod: CallTally;
  readonly notifications: number;
}

export function sideOf(turns: readonly Turn[]): Side {
  const load = merge(turns.map((turn) => turn.load));
  const { [SERVED]: served = 0, ...notServed } = sumOf(turns.map(({ outcomes }) => outcomes));
  const rate = sumOf(turns.map((turn) => turn.rate));
  return {
    payments: load.count,
    served,
    notServed,
    p50Ms: Math.round(latencyMs(load, 0.5)),
    p95Ms: Math.round(latencyMs(load, 0.95)),
    perSecond: round((rate.served ?? 0) / (rate.seconds ?? 0)),
    untilAnswer: costsOf(
      turns.map(({ untilAnswer }) => untilAnswer),
      load.count,
    ),
    untilFinal: costsOf(
      turns.map(({ untilFinal }) => untilFinal),
      load.count,
    ),
  };
}

function costsOf(costs: readonly Costs[], payments: number): SideCosts {
  const each = (tally: CallTally) =>
    Object.fromEntries(Object.entries(tally).map(([name, sum]) => [name, round(sum / payments)]));
  const [cpu, rpc, notifications] = [
    sumOf(costs.map((one) => one.cpu)),
    sumOf(costs.map((one) => one.rpc)),
    sumOf(costs.map((one) => one.notifications)),
  ];
  return {
    cpuMs: round(costs.reduce((sum, one) => sum + ownCpuMs(one), 0) / payments),
    machineCpuMs: round(total(cpu) / payments),
    cpuMsByProcess: each(cpu),
    rpcCalls: round(total(rpc) / payments),
    rpcByMethod: each(rpc),
    notifications: round(total(notifications) / payments),
  };
}

function sumOf(tallies: readonly CallTally[]): CallTally {
  const sums: Record<string, number> = {};
  for (const tally of tallies)
    for (const [name, value] of Object.entries(tally)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}

export function round(value: number): number {
  return Number(value.toFixed(3));
}
