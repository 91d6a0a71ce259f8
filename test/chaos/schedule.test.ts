import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS, faultNames } from '../../chaos/kinds.ts';
import { drawSchedule, type Injection } from '../../chaos/schedule.ts';

const plans = fc.record({
  seed: fc.integer(),
  minutes: fc.integer({ min: 1, max: 20 }),
  nodes: fc.integer({ min: 2, max: 5 }),
  deposits: fc.constantFrom(0, 500),
  payments: fc.constantFrom(0, 300),
});

describe('the schedule of a chaos run', () => {
  it('is the same for the same seed, and differs for another', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(drawSchedule(plan)).toEqual(drawSchedule(plan));
        expect(drawSchedule({ ...plan, seed: plan.seed ^ 1 })).not.toEqual(drawSchedule(plan));
      }),
      { numRuns: 20 },
    );
  });

  it('is independent of scan faults when there are no deposits', () => {
    const schedule = drawSchedule({ seed: 7, minutes: 6, nodes: 3, deposits: 0, payments: 0 });
    expect(schedule).toHaveLength(56);
    expect(schedule.slice(0, 2)).toEqual([
      { kind: 'node_false_price', node: 0, draw: 251_493, atMs: 2_130, untilMs: 11_902 },
      { kind: 'database_restart', node: 0, draw: 458_657, atMs: 4_812, untilMs: 8_852 },
    ]);
    expect(schedule.at(-1)).toMatchObject({ kind: 'node_false_price', atMs: 351_303 });
  });

  it('contains every kind of fault, and heals each before the end', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const schedule = drawSchedule(plan);
        expect(new Set(schedule.map(({ kind }) => kind))).toEqual(
          new Set(faultNames({ deposits: plan.deposits > 0, payments: plan.payments > 0 })),
        );
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

  it('has a node list dead attempts only after some died', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const schedule = drawSchedule(plan);
        const first = (name: Injection['kind']) => schedule.find(({ kind }) => kind === name);
        expect(first('node_false_status')?.atMs).toBeGreaterThanOrEqual(first('expiry')?.untilMs ?? 0);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['has at most one lying node at a time', ['lie', 'lie-of-best', 'blocks']],
    ['has no other node lie beside the best one', ['lie-of-best', 'lie', 'blocks']],
    ['cuts workers off only while database, API and workers run', ['database-of-workers', 'database', 'api']],
    ['searches for the scanner only while Temporal and the workers run', ['scanner', 'temporal']],
    ['drops blocks in one place at a time', ['chain']],
  ])('%s', (_, lanes) => {
    fc.assert(
      fc.property(plans, (plan) => {
        const held = drawSchedule(plan).filter(({ kind }) => lanes.includes(FAULT_KINDS[kind].lane));
        expect(held.filter((one) => held.some((other) => overlap(one, other, lanes)))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

/** Two faults at a time, of which one is of the first of these lanes. */
function overlap(one: Injection, other: Injection, [first]: readonly string[]): boolean {
  return (
    one !== other &&
    FAULT_KINDS[one.kind].lane === first &&
    other.atMs < one.untilMs &&
    one.atMs < other.untilMs
  );
}
