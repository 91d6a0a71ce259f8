import { expect, it } from 'vitest';
import type { Load } from '../../bench/load.ts';
import { type Costs, withoutIdle } from '../../bench/x402/costs.ts';
import { roundsOf } from '../../bench/x402/rounds.ts';
import { sideOf } from '../../bench/x402/side.ts';

const NO_COSTS: Costs = { cpu: {}, rpc: {}, notifications: {}, besideRpc: {} };

/** A turn of ten payments a second, each with this latency and this processor time. */
function side(latencyMs: number, cpuMs: number) {
  const load: Load = { count: 10, seconds: 1, pausedSeconds: 0, latenciesMs: Array(10).fill(latencyMs) };
  const costs: Costs = { ...NO_COSTS, cpu: { gateway: 10 * cpuMs }, rpc: { sendTransaction: 10 } };
  const turn = { untilAnswer: costs, untilFinal: costs };
  const sales = { seller: 'ours', load, outcomes: { served: 10 }, rate: { served: 10, seconds: 1 } } as const;
  return sideOf([{ ...sales, ...turn }]);
}

it('subtracts the background work of the pauses, and leaves the work of payments', () => {
  const idle: Costs = { ...NO_COSTS, cpu: { temporal: 100, driver: 20 }, rpc: { getSlot: 10 } };
  const costs: Costs = {
    ...NO_COSTS,
    cpu: { temporal: 90, driver: 30, chain: 7 },
    rpc: { getSlot: 8, sendTransaction: 4 },
    notifications: { slotNotification: 5 },
  };
  expect(withoutIdle(costs, idle, 0)).toEqual(costs);
  expect(withoutIdle(costs, idle, 0.3)).toEqual({
    ...NO_COSTS,
    cpu: { temporal: 60, driver: 24, chain: 7 },
    rpc: { getSlot: 5, sendTransaction: 4 },
    notifications: { slotNotification: 5 },
  });
});

it('reports each round, and the spread of the rounds as noise', () => {
  const { rounds, noise } = roundsOf([side(500, 30), side(400, 10)], [side(500, 5), side(500, 5)]);
  expect(rounds.map(({ ratio }) => ratio)).toMatchObject([
    { p50Ms: 1, cpuMs: 6, perSecond: 1 },
    { p50Ms: 0.8, cpuMs: 2, perSecond: 1 },
  ]);
  expect(noise).toMatchObject({
    ours: { p50Ms: 0.222, cpuMs: 1, perSecond: 0 },
    theirs: { p50Ms: 0, cpuMs: 0 },
    ratio: { p50Ms: 0.222, cpuMs: 1 },
  });
  expect(roundsOf([side(500, 30)], [side(500, 5)]).noise).toBeNull();
});
