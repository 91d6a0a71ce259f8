import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawDeposits, FAKES } from '../../chaos/deposits/plan.ts';

const plans = fc.record({
  seed: fc.integer(),
  deposits: fc.integer({ min: 1, max: 600 }),
  minutes: fc.integer({ min: 1, max: 20 }),
  newcomersAtMs: fc.array(fc.nat({ max: 60_000 }), { maxLength: 5 }),
});

describe('the deposits of a chaos run', () => {
  it('include the requested number of credited deposits, and are the same for the same seed', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const payments = drawDeposits(plan);
        const good = payments.filter(({ fake }) => fake === null).flatMap(({ legs }) => legs);
        expect(good).toHaveLength(plan.deposits);
        expect(drawDeposits(plan)).toEqual(payments);
        for (const { atMs } of payments) expect(atMs).toBeLessThanOrEqual(plan.minutes * 60_000);
      }),
      { numRuns: 50 },
    );
  });

  it('never pay one account twice in a transaction, because that is one deposit', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        for (const { legs } of drawDeposits(plan))
          expect(new Set(legs.map(({ user, coin }) => `${user} ${coin}`)).size).toBe(legs.length);
      }),
      { numRuns: 50 },
    );
  });

  it('include every kind of fake, and transactions that pay many', () => {
    const payments = drawDeposits({ seed: 11, deposits: 500, minutes: 6, newcomersAtMs: [] });
    expect(new Set(payments.flatMap(({ fake }) => fake ?? []))).toEqual(new Set(FAKES));
    expect(new Set(payments.map(({ legs }) => legs.length))).toEqual(new Set([1, 2, 3]));
    const users = new Set(payments.flatMap(({ legs }) => legs.map(({ user }) => user)));
    expect(users.size).toBeGreaterThan(40);
  });

  it('add a new user at each moment that requires one', () => {
    const newcomersAtMs = [7_000, 30_000];
    const payments = drawDeposits({ seed: 1, deposits: 40, minutes: 1, newcomersAtMs });
    for (const moment of newcomersAtMs) {
      const [newcomer] = payments.filter(({ atMs, legs }) => atMs === moment && legs.length === 1);
      const others = payments.filter(
        (one) => one !== newcomer && one.legs[0]?.user === newcomer?.legs[0]?.user,
      );
      expect(newcomer).toBeDefined();
      expect(others).toEqual([]);
    }
  });
});
