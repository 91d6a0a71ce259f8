import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PAYMENT_STATES } from '../../../src/domain/payment.ts';
import { servableInstead } from '../../../src/x402/gateway/claim-owed.ts';

const NOW_MS = 1_000_000;
const row = fc.record({
  seller: fc.constantFrom('gateway' as const, 'facilitator' as const),
  state: fc.constantFrom(...PAYMENT_STATES),
  leaseUntil: fc.option(fc.integer({ min: -5, max: 5 }).map((offset) => new Date(NOW_MS + offset))),
  isAnswered: fc.boolean(),
  askedAt: fc.option(fc.constant(new Date(0))),
});
const rows = fc
  .array(row, { maxLength: 12 })
  .map((all) => all.map((one, index) => ({ ...one, id: `p${index}`, position: BigInt(index) })))
  .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }));

type Rows = typeof rows extends fc.Arbitrary<infer Value> ? Value : never;

/** One step of a new payment: `choose` reads the rows, `take` is the compare-and-set of the lease. */
function purchase(isRepeatable: boolean) {
  let candidates: string[] | null = null;
  return {
    outcome: null as string | null,
    /** True when the purchase has ended. */
    step(table: Map<string, Rows[number]>): boolean {
      if (candidates === null) {
        candidates = [...servableInstead([...table.values()], isRepeatable, NOW_MS)];
        return false;
      }
      const id = candidates.shift();
      const owed = id === undefined ? undefined : table.get(id);
      if (owed === undefined) this.outcome = 'settled';
      else if (owed.leaseUntil === null || owed.leaseUntil.getTime() < NOW_MS) {
        table.set(owed.id, { ...owed, leaseUntil: new Date(NOW_MS + 90_000) });
        this.outcome = owed.id;
      }
      return this.outcome !== null;
    },
  };
}

describe('the owed payments that can be served in place of settling a new one', () => {
  it('are unserved, have no valid lease, may be sent to the upstream, and are listed oldest first', () => {
    fc.assert(
      fc.property(rows, fc.boolean(), (all, isRepeatable) => {
        const chosen = servableInstead(all, isRepeatable, NOW_MS).map((id) =>
          all.find((one) => one.id === id),
        );
        for (const one of chosen) {
          expect(one).toMatchObject({ seller: 'gateway', state: 'owed' });
          expect(one?.leaseUntil?.getTime() ?? 0).toBeLessThan(NOW_MS);
          expect(isRepeatable || one?.isAnswered || one?.askedAt === null).toBe(true);
        }
        const positions = chosen.map((one) => Number(one?.position));
        expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      }),
    );
  });

  it('each serve at most one of several new payments, and every other new payment is settled', () => {
    fc.assert(
      fc.property(rows, fc.array(fc.nat({ max: 5 }), { maxLength: 60 }), (all, order) => {
        const table = new Map(all.map((one) => [one.id, one]));
        const free = servableInstead(all, true, NOW_MS).length;
        const purchases = Array.from({ length: 6 }, () => purchase(true));
        for (const index of order) {
          const one = purchases[index];
          if (one?.outcome === null) one.step(table);
        }
        for (const one of purchases) while (one.outcome === null) one.step(table);
        const replaced = purchases.flatMap(({ outcome }) => (outcome === 'settled' ? [] : [outcome]));
        expect(new Set(replaced).size).toBe(replaced.length);
        expect(replaced).toHaveLength(Math.min(free, purchases.length));
      }),
    );
  });
});
