import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterAnswer,
  afterDisprovedAnswer,
  afterFault,
  afterOvertaking,
  afterProbe,
  demotionOf,
  type Health,
  scoreOf,
  UNKNOWN_HEALTH,
} from '../../src/solana/rpc/health.ts';

const fault = { reason: 'HTTP 503', retryAfterMs: null };
const storm = { reason: 'HTTP 429', retryAfterMs: 20_000 };

describe('demotion', () => {
  it('grows with each fault in a row, and ends with an answer', () => {
    const ends: number[] = [];
    let health = UNKNOWN_HEALTH;
    for (let count = 0; count < 8; count += 1) {
      health = afterFault(health, fault, 0);
      ends.push(health.pause?.until ?? 0);
    }
    expect(ends).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(demotionOf(health, 14_999)).toEqual({ cause: 'fault', reason: 'HTTP 503' });
    expect(demotionOf(health, 15_000)).toBeNull();
    expect(demotionOf(afterAnswer(health), 0)).toBeNull();
  });

  it('lasts as long as the node asked, whatever else it answers meanwhile', () => {
    const health = afterFault(afterAnswer(afterFault(UNKNOWN_HEALTH, storm, 0)), fault, 10);
    expect(demotionOf(health, 19_999)).toEqual({ cause: 'retry-after', reason: 'HTTP 429' });
    expect(demotionOf(health, 20_000)).toBeNull();
  });

  it('of one that was overtaken lasts a minute, whatever it answers meanwhile, and counts least', () => {
    const health = afterAnswer(afterOvertaking(UNKNOWN_HEALTH, 0));
    expect(demotionOf(health, 59_999)?.cause).toBe('slow');
    expect(demotionOf(health, 60_000)).toBeNull();
    expect(demotionOf(afterFault(health, fault, 0), 0)?.cause).toBe('fault');
  });

  it('of one that a quorum denied lasts ten minutes, whatever it answers meanwhile, and says why', () => {
    const health = afterAnswer(afterDisprovedAnswer(UNKNOWN_HEALTH, 'showed what was not', 0));
    const demotion = { cause: 'false', reason: 'showed what was not' };
    expect(demotionOf(health, 599_999)).toEqual(demotion);
    expect(demotionOf(afterFault(health, fault, 0), 0)).toEqual(demotion);
    expect(demotionOf(afterFault(health, storm, 0), 0)?.cause).toBe('retry-after');
    expect(demotionOf(health, 600_000)).toBeNull();
  });

  it('names the lag of a node beyond the distance at which nodes call themselves unhealthy', () => {
    expect(demotionOf({ ...UNKNOWN_HEALTH, lagSlots: 128n }, 0)).toBeNull();
    expect(demotionOf({ ...UNKNOWN_HEALTH, lagSlots: 129n }, 0)).toEqual({
      cause: 'lag',
      reason: 'lags 129 slots behind',
    });
  });
});

describe('score', () => {
  const healths: fc.Arbitrary<Health> = fc.record({
    errorRate: fc.double({ min: 0, max: 1, noNaN: true }),
    faultsInARow: fc.nat(),
    pause: fc.constant(null),
    latencyMs: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true })),
    lagSlots: fc.option(fc.bigInt({ min: 0n, max: 10n ** 9n })),
    slowUntil: fc.constant(null),
    falseWord: fc.constant(null),
  });

  it('is between 0 and 100, and falls with lag, errors and latency', () => {
    fc.assert(
      fc.property(healths, (health) => {
        const score = scoreOf(health);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100);
        expect(scoreOf({ ...health, lagSlots: (health.lagSlots ?? 0n) + 400n })).toBeLessThanOrEqual(score);
        expect(scoreOf({ ...health, latencyMs: (health.latencyMs ?? 0) + 1_000 })).toBeLessThanOrEqual(score);
        expect(scoreOf(afterFault(health, fault, 0))).toBeLessThanOrEqual(score);
        expect(scoreOf(afterAnswer(health))).toBeGreaterThanOrEqual(score);
      }),
    );
    expect(scoreOf(UNKNOWN_HEALTH)).toBe(100);
    expect(scoreOf({ ...UNKNOWN_HEALTH, lagSlots: 40n })).toBe(90);
    expect(scoreOf({ ...UNKNOWN_HEALTH, errorRate: 0.5 })).toBe(80);
    expect(scoreOf(afterProbe(UNKNOWN_HEALTH, 1_000))).toBe(96);
  });
});
