import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS, FAULT_NAMES } from '../../chaos/kinds.ts';
import { drawSchedule } from '../../chaos/schedule.ts';

const plans = fc.record({
  seed: fc.integer(),
  minutes: fc.integer({ min: 1, max: 20 }),
  nodes: fc.integer({ min: 2, max: 5 }),
});

describe('the schedule of a chaos run', () => {
  it('is the same for the same seed, and another one for another', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(drawSchedule(plan)).toEqual(drawSchedule(plan));
        expect(drawSchedule({ ...plan, seed: plan.seed ^ 1 })).not.toEqual(drawSchedule(plan));
      }),
      { numRuns: 20 },
    );
  });

  it('holds every kind of fault and heals each before the end', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const schedule = drawSchedule(plan);
        expect(new Set(schedule.map(({ kind }) => kind))).toEqual(new Set(FAULT_NAMES));
        for (const { atMs, untilMs, node } of schedule) {
          expect(atMs).toBeGreaterThanOrEqual(0);
          expect(untilMs).toBeGreaterThan(atMs);
          expect(untilMs).toBeLessThanOrEqual(plan.minutes * 60_000);
          expect(node).toBeLessThan(plan.nodes);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('lets no two nodes lie at a time', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const lies = drawSchedule(plan).filter(({ kind }) => FAULT_KINDS[kind].lane === 'lie');
        for (const [index, lie] of lies.entries()) {
          const next = lies[index + 1];
          if (next !== undefined) expect(next.atMs).toBeGreaterThanOrEqual(lie.untilMs);
        }
      }),
      { numRuns: 50 },
    );
  });
});
