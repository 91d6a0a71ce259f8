import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawDemand } from '../../chaos/demand.ts';
import { drawSchedule } from '../../chaos/schedule.ts';
import { type Wanted, wantedBy } from '../../chaos/wanted.ts';

const MARKET = { mint: 'mint', feeMint: 'fee-mint', pausableMint: 'pausable', wallets: ['ann', 'ben'] };
const demand = (seed: number, withdrawals: number, wanted: readonly Wanted[], minutes = 6) =>
  drawDemand({ seed, withdrawals, minutes, run: 'r', wanted }, MARKET);

const wishes = fc.record(
  {
    atMs: fc.integer({ min: 0, max: 360_000 }),
    asset: fc.constantFrom('mint' as const, 'feeMint' as const, 'pausableMint' as const),
    toNewWallet: fc.constant(true as const),
    memo: fc.integer({ min: 1, max: 60 }),
  },
  { requiredKeys: ['atMs'] },
);

it('the plan contains the requested number of orders, and twins have one moment', () => {
  const all = fc.array(wishes, { maxLength: 6 });
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: 20, max: 200 }), all, (seed, withdrawals, wanted) => {
      const orders = demand(seed, withdrawals, wanted);
      expect(new Set(orders.map(({ terms }) => terms.id)).size).toBe(withdrawals);
      const amounts = (some: typeof orders) => some.map(({ terms: { id, amount } }) => [id, amount]);
      expect(amounts(orders)).toEqual(amounts(demand(seed, withdrawals, [])));
      for (const one of wanted) expect(orders.some((order) => meets(order, one))).toBe(true);
      for (let twin = 1; twin < withdrawals; twin += 5)
        expect(orders[twin]?.atMs).toBe(orders[twin - 1]?.atMs);
    }),
    { numRuns: 30 },
  );
});

function meets({ atMs, terms }: ReturnType<typeof demand>[number], wanted: Wanted): boolean {
  return (
    atMs === wanted.atMs &&
    (wanted.asset === undefined || terms.asset === MARKET[wanted.asset]) &&
    (wanted.toNewWallet === undefined || !MARKET.wallets.includes(terms.destination)) &&
    (wanted.memo === undefined || terms.memo?.length === wanted.memo)
  );
}

it.each([
  [150, 5],
  [60, 2],
])(
  'the plan of %i orders in %i minutes includes new token accounts of every asset',
  (withdrawals, minutes) => {
    const orders = demand(
      11,
      withdrawals,
      wantedBy(drawSchedule({ seed: 11, minutes, nodes: 3, deposits: 0, payments: 0 })),
      minutes,
    );
    for (const asset of ['mint', 'fee-mint', 'pausable'])
      expect(
        orders.filter(({ terms }) => terms.asset === asset && !MARKET.wallets.includes(terms.destination))
          .length,
      ).toBeGreaterThan(1);
  },
);
