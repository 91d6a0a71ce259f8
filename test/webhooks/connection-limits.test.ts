import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionLimiter, mayTake } from '../../src/webhooks/connection-limits.ts';

const TOTAL = 100;

/** Takes all tries that the endpoint may have; returns their number. */
function fill(limiter: ConnectionLimiter, endpoint: string): number {
  for (let held = 0; ; held += 1) if (limiter.take(endpoint).kind === 'full') return held;
}

describe('the connection limiter of a process', () => {
  it('gives a single hanging endpoint a third of the tries, and each of ten hanging endpoints a twelfth', () => {
    expect(fill(new ConnectionLimiter(TOTAL), 'a')).toBe(33);
    const ten = new ConnectionLimiter(TOTAL);
    const names = Array.from({ length: 10 }, (_, n) => `slow-${n}`);
    // All of them take one more place, in turn, until the limiter refuses every one.
    const held = new Map(names.map((name) => [name, 0]));
    for (let isOver = false; !isOver; ) {
      isOver = true;
      for (const name of names)
        if (ten.take(name).kind === 'taken') {
          held.set(name, (held.get(name) ?? 0) + 1);
          isOver = false;
        }
    }
    expect([...held.values()].every((count) => count === 8 || count === 9)).toBe(true);
    expect(ten.take('another').kind).toBe('taken');
  });

  it('keeps one place for an endpoint without a place', () => {
    const some = fc.array(fc.tuple(fc.nat(30), fc.boolean()), { maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 60 }), some, (total, steps) => {
        const limiter = new ConnectionLimiter(total);
        const held = new Map<number, (() => void)[]>();
        for (const [endpoint, comes] of steps) {
          const own = held.get(endpoint) ?? [];
          held.set(endpoint, own);
          if (!comes) {
            own.pop()?.();
            continue;
          }
          const free = total - [...held.values()].reduce((sum, each) => sum + each.length, 0);
          const turn = limiter.take(String(endpoint));
          expect(turn.kind === 'taken').toBe(mayTake(own.length, free));
          if (turn.kind === 'taken') own.push(turn.release);
          expect(own.length).toBeLessThanOrEqual((total + 1) / 3);
        }
        const free = total - [...held.values()].reduce((sum, each) => sum + each.length, 0);
        expect(free).toBeGreaterThan(0);
        expect(limiter.take('new').kind === 'taken').toBe(free > 1);
      }),
    );
  });

  it('frees a place when its owner releases it, and only once', () => {
    const limiter = new ConnectionLimiter(TOTAL);
    const turns = Array.from({ length: 33 }, () => limiter.take('a'));
    expect(limiter.take('a').kind).toBe('full');
    for (const turn of [...turns, ...turns]) if (turn.kind === 'taken') turn.release();
    expect(fill(limiter, 'b')).toBe(33);
    expect(fill(limiter, 'a')).toBeGreaterThan(20);
  });
});

describe('a delivery attempt without a free place', () => {
  /** Delivers so many events of one endpoint that each take so long, by a simulated clock; null: the endpoint never answers. */
  function played(events: number, tookMs: number | null, untilMs: number) {
    let now = 0;
    const limiter = new ConnectionLimiter(TOTAL, () => now);
    const calendar = new Map<number, (() => void)[]>();
    const after = (ms: number, happen: () => void): void => {
      const at = now + Math.max(1, Math.ceil(ms));
      calendar.set(at, [...(calendar.get(at) ?? []), happen]);
    };
    let [asked, done, endedAt] = [0, 0, 0];
    const come = (): void => {
      asked += 1;
      const turn = limiter.take('slow');
      if (turn.kind === 'full') return after(turn.retryInMs, come);
      if (tookMs !== null)
        after(tookMs, () => {
          turn.release();
          done += 1;
          endedAt = now;
        });
    };
    for (let event = 0; event < events; event += 1) after(event, come);
    for (; now <= untilMs && done < events; now += 1) {
      for (const happen of calendar.get(now) ?? []) happen();
      calendar.delete(now);
    }
    return { asked, done, endedAt };
  }

  it('is repeated when a place is free: many events end in little more than the sum of their times', () => {
    for (const tookMs of [20, 100, 1_000]) {
      const { done, asked, endedAt } = played(5_000, tookMs, 3_600_000);
      expect(done).toBe(5_000);
      expect(endedAt).toBeLessThan(2 * (5_000 + (5_000 * tookMs) / 33));
      expect(asked).toBeLessThan(5 * 5_000);
    }
  });

  it('is repeated rarely while no place becomes free', () => {
    const { asked, done } = played(5_000, null, 3_600_000);
    expect(done).toBe(0);
    // Once in five minutes, or somewhat more often: an hour has twelve such attempts.
    expect(asked).toBeLessThan(25 * 5_000);
    expect(asked).toBeGreaterThan(10 * 5_000);
  });
});
