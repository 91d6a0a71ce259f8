import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  DEFAULT_SIGNER_CAPACITY,
  maxUnsentAttempts,
  mayBeginAttempt,
  SigningTimes,
  signerCapacityOf,
} from '../../src/domain/backpressure.ts';

it('the limit stays while no attempt dies, and is never zero', () => {
  expect(maxUnsentAttempts({ ended: 0, dead: 0 }, DEFAULT_SIGNER_CAPACITY)).toBe(DEFAULT_SIGNER_CAPACITY);
  expect(maxUnsentAttempts({ ended: 1, dead: 1 }, DEFAULT_SIGNER_CAPACITY)).toBe(2);
  fc.assert(
    fc.property(fc.nat(100), fc.nat(100), (landed, dead) => {
      const allowed = maxUnsentAttempts({ ended: landed + dead, dead }, DEFAULT_SIGNER_CAPACITY);
      expect(allowed).toBeGreaterThanOrEqual(2);
      expect(allowed).toBeLessThanOrEqual(DEFAULT_SIGNER_CAPACITY);
      expect(
        maxUnsentAttempts({ ended: landed + dead + 1, dead: dead + 1 }, DEFAULT_SIGNER_CAPACITY),
      ).toBeLessThanOrEqual(allowed);
      expect(
        maxUnsentAttempts({ ended: landed + dead + 1, dead }, DEFAULT_SIGNER_CAPACITY),
      ).toBeGreaterThanOrEqual(allowed);
    }),
  );
});

it('the limit falls to a few probes while the signer signs nothing', () => {
  const none = { ended: 0, dead: 0 };
  expect(
    mayBeginAttempt({ living: DEFAULT_SIGNER_CAPACITY - 1, overdue: 0 }, none, DEFAULT_SIGNER_CAPACITY),
  ).toBe(true);
  expect(
    mayBeginAttempt({ living: 2, overdue: DEFAULT_SIGNER_CAPACITY }, none, DEFAULT_SIGNER_CAPACITY),
  ).toBe(false);
  expect(mayBeginAttempt({ living: 1, overdue: 1_000 }, none, DEFAULT_SIGNER_CAPACITY)).toBe(true);
  expect(mayBeginAttempt({ living: 2, overdue: 0 }, { ended: 9, dead: 9 }, DEFAULT_SIGNER_CAPACITY)).toBe(
    false,
  );
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
      if (waiting.length < signerCapacityOf(times.measured(''), 400, now - since)) break;
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
    expect(most).toBeLessThanOrEqual(Math.max(DEFAULT_SIGNER_CAPACITY, served + 1));
  },
);

it('a signer that has stopped receives fewer and fewer attempts', () => {
  const signings = { count: 32, latencyMs: 20, firstAt: 0, lastAt: 320 };
  const served = [0, 1_000, 10_000, 60_000].map((waited) => signerCapacityOf(signings, 400, waited));
  expect(served).toEqual([2_048, 705, 90, DEFAULT_SIGNER_CAPACITY]);
});
