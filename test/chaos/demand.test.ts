import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawDemand } from '../../chaos/demand.ts';

const MARKET = { mint: 'mint', feeMint: 'fee-mint', wallets: ['ann', 'ben'] };
const demand = (seed: number, withdrawals: number, wantedAtMs: readonly number[]) =>
  drawDemand({ seed, withdrawals, minutes: 6, run: 'r', wantedAtMs }, MARKET);

it('an order is there at each wanted moment, and all that were asked for, twins at one moment', () => {
  const moments = fc.array(fc.integer({ min: 0, max: 360_000 }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: 20, max: 200 }), moments, (seed, withdrawals, wanted) => {
      const orders = demand(seed, withdrawals, wanted);
      expect(new Set(orders.map(({ terms }) => terms.id)).size).toBe(withdrawals);
      const amounts = (all: typeof orders) => all.map(({ terms: { id, amount } }) => [id, amount]);
      expect(amounts(orders)).toEqual(amounts(demand(seed, withdrawals, [])));
      for (const atMs of wanted) expect(orders.some((order) => order.atMs === atMs)).toBe(true);
      for (let twin = 1; twin < withdrawals; twin += 5)
        expect(orders[twin]?.atMs).toBe(orders[twin - 1]?.atMs);
    }),
  );
});
