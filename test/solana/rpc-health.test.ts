import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeHealth } from '../../src/solana/rpc/health.ts';

let now = 0;

function healthAt(start: number): NodeHealth {
  now = start;
  return new NodeHealth(() => now);
}

function causeAt(health: NodeHealth, time: number): string | undefined {
  now = time;
  return health.demotion?.cause;
}

describe('a demotion', () => {
  it('grows with each consecutive fault, and ends with an answer', () => {
    const health = healthAt(0);
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]) {
      now = 0;
      health.recordFault('HTTP 503');
      expect([causeAt(health, pause - 1), causeAt(health, pause)]).toEqual(['fault', undefined]);
    }
    now = 14_999;
    expect(health.demotion).toEqual({ cause: 'fault', reason: 'HTTP 503' });
    health.recordAnswer();
    expect(health.demotion).toBeNull();
  });

  it('lasts as long as the node requested, whatever it answers meanwhile', () => {
    const health = healthAt(0);
    health.recordFault('HTTP 429', 20_000);
    health.recordAnswer();
    now = 10;
    health.recordFault('HTTP 503');
    now = 19_999;
    expect(health.demotion).toEqual({ cause: 'retry-after', reason: 'HTTP 429' });
    expect(causeAt(health, 20_000)).toBeUndefined();
  });

  it('of a late node lasts a minute, whatever it answers meanwhile, and has the least weight', () => {
    const health = healthAt(0);
    health.recordOvertaken();
    health.recordAnswer();
    expect([causeAt(health, 59_999), causeAt(health, 60_000)]).toEqual(['slow', undefined]);
    health.recordOvertaken();
    health.recordFault('HTTP 503');
    expect(health.demotion?.cause).toBe('fault');
  });

  it('of a node that a quorum contradicted lasts ten minutes, whatever it answers meanwhile, with the reason', () => {
    const health = healthAt(0);
    health.recordFalseAnswer('returned a false block');
    health.recordAnswer();
    const demotion = { cause: 'false', reason: 'returned a false block' };
    now = 599_999;
    expect(health.demotion).toEqual(demotion);
    health.recordFault('HTTP 503');
    expect(health.demotion).toEqual(demotion);
    health.recordFault('HTTP 429', 1);
    expect(health.demotion?.cause).toBe('retry-after');
    health.recordAnswer();
    expect(causeAt(health, 600_000)).toBeUndefined();
  });

  it('names the slot distance of a node, behind or ahead, above the limit at which nodes report themselves unhealthy', () => {
    const health = healthAt(0);
    const demotionWith = (lagSlots: bigint) => {
      health.lagSlots = lagSlots;
      return health.demotion;
    };
    expect([demotionWith(128n), demotionWith(-128n)]).toEqual([null, null]);
    expect(demotionWith(129n)).toEqual({ cause: 'lag', reason: 'is 129 slots behind the other nodes' });
    expect(demotionWith(-129n)).toEqual({
      cause: 'lag',
      reason: 'reports 129 slots more than the other nodes',
    });
  });
});

describe('a score', () => {
  it('is between 0 and 100, and falls with lag, errors and latency', () => {
    const parts = {
      faults: fc.nat(30),
      latencyMs: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true })),
      lagSlots: fc.option(fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n })),
    };
    fc.assert(
      fc.property(fc.record(parts), ({ faults, latencyMs, lagSlots }) => {
        const health = healthAt(0);
        health.latencyMs = latencyMs;
        health.lagSlots = lagSlots;
        for (let count = 0; count < faults; count += 1) health.recordFault('HTTP 503');
        let before = health.score;
        expect(before).toBeGreaterThanOrEqual(0);
        expect(before).toBeLessThanOrEqual(100);
        const worse: readonly (() => void)[] = [
          () => (health.lagSlots = (lagSlots ?? 0n) + 400n),
          () => (health.latencyMs = (latencyMs ?? 0) + 1_000),
          () => health.recordFault('HTTP 503'),
        ];
        for (const change of worse) {
          change();
          expect(health.score).toBeLessThanOrEqual(before);
          before = health.score;
        }
        health.recordAnswer();
        expect(health.score).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  it('drops a point for four slots, ten for a quarter of failed requests and one for 250 ms', () => {
    const scoreWith = (part: Partial<Pick<NodeHealth, 'lagSlots' | 'errorRate' | 'latencyMs'>>) =>
      Object.assign(healthAt(0), part).score;
    expect(scoreWith({})).toBe(100);
    expect(scoreWith({ lagSlots: 40n })).toBe(90);
    expect(scoreWith({ errorRate: 0.5 })).toBe(80);
    expect(scoreWith({ latencyMs: 1_000 })).toBe(96);
  });
});
