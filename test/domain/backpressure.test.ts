import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  mayBegin,
  SigningTimes,
  USUAL_UNSENT,
  unsentAllowed,
  unsentServed,
} from '../../src/domain/backpressure.ts';

it('the limit stays while no attempt dies, and is never zero', () => {
  expect(unsentAllowed({ ended: 0, dead: 0 }, USUAL_UNSENT)).toBe(USUAL_UNSENT);
  expect(unsentAllowed({ ended: 1, dead: 1 }, USUAL_UNSENT)).toBe(2);
  fc.assert(
    fc.property(fc.nat(100), fc.nat(100), (landed, dead) => {
      const allowed = unsentAllowed({ ended: landed + dead, dead }, USUAL_UNSENT);
      expect(allowed).toBeGreaterThanOrEqual(2);
      expect(allowed).toBeLessThanOrEqual(USUAL_UNSENT);
      expect(unsentAllowed({ ended: landed + dead + 1, dead: dead + 1 }, USUAL_UNSENT)).toBeLessThanOrEqual(
        allowed,
      );
      expect(unsentAllowed({ ended: landed + dead + 1, dead }, USUAL_UNSENT)).toBeGreaterThanOrEqual(allowed);
    }),
  );
});

it('the limit falls to a few probes while the signer signs nothing', () => {
  const none = { ended: 0, dead: 0 };
  expect(mayBegin({ living: USUAL_UNSENT - 1, overdue: 0 }, none, USUAL_UNSENT)).toBe(true);
  expect(mayBegin({ living: 2, overdue: USUAL_UNSENT }, none, USUAL_UNSENT)).toBe(false);
  expect(mayBegin({ living: 1, overdue: 1_000 }, none, USUAL_UNSENT)).toBe(true);
  expect(mayBegin({ living: 2, overdue: 0 }, { ended: 9, dead: 9 }, USUAL_UNSENT)).toBe(false);
});

/** The unsent attempts of 1,000 payments at `perSecond`, with a signer that signs `atOnce`, each in `latencyMs`. */
function settles(perSecond: number, latencyMs: number, atOnce: number): { most: number; signed: number } {
  const times = new SigningTimes();
  const ends: number[] = [];
  let [most, now] = [0, 0];
  const waiting: { begun: number; end: number }[] = [];
  for (let payment = 0; payment < 1_000; payment += 1) {
    now = Math.max(now, (payment * 1_000) / perSecond);
    for (;;) {
      while ((waiting[0]?.end ?? Number.POSITIVE_INFINITY) <= now) {
        const done = waiting.shift();
        if (done !== undefined) times.add('', done.end, done.end - done.begun);
      }
      const since = Math.max(waiting[0]?.begun ?? now, times.measured('')?.lastAt ?? 0);
      if (waiting.length < unsentServed(times.measured(''), 400, now - since)) break;
      now = waiting[0]?.end ?? now;
    }
    const free = payment < atOnce ? 0 : (ends[payment - atOnce] ?? 0);
    const end = Math.max(now, free) + latencyMs;
    ends.push(end);
    waiting.push({ begun: now, end });
    most = Math.max(most, waiting.length);
  }
  return { most, signed: 1_000 / ((ends.at(-1) ?? 1) / 1_000) };
}

it('a slow signer that signs many at once sets no limit: 150 payments a second, each signed in half a second', () => {
  const { signed } = settles(150, 500, 1_000);
  expect(signed).toBeGreaterThan(100);
});

it.each([
  [1_000, 1],
  [5_000, 1],
  [10_000, 4],
])(
  'the limit is what the signer signs in half the life of a blockhash: %i ms, %i at once',
  (latencyMs, atOnce) => {
    const served = (30_000 / latencyMs) * atOnce;
    const { most } = settles(150, latencyMs, atOnce);
    expect(most).toBeLessThanOrEqual(Math.max(USUAL_UNSENT, served + 1));
  },
);

it('a signer that has stopped receives fewer and fewer attempts', () => {
  const signings = { count: 32, latencyMs: 20, firstAt: 0, lastAt: 320 };
  const served = [0, 1_000, 10_000, 60_000].map((waited) => unsentServed(signings, 400, waited));
  expect(served).toEqual([2_048, 705, 90, USUAL_UNSENT]);
});
