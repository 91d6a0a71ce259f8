import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Slots } from '../../../src/domain/scan.ts';
import { hasAllOf, type ListedBlocks } from '../../../src/solana/history/ledger-completeness.ts';

interface LedgerBlock {
  readonly slot: bigint;
  readonly parentSlot: bigint;
  readonly height: bigint;
}

/** Which blocks a node has lost: one in eight. */
const losses = fc.array(
  fc.nat(7).map((n) => n === 0),
  { minLength: 31, maxLength: 31 },
);

/** A chain with skipped slots, slots within its ends, and the ledgers of two nodes. */
const histories = fc
  .record({
    steps: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 3, maxLength: 30 }),
    ends: fc.tuple(fc.nat(), fc.nat()),
    lost: fc.array(losses, { minLength: 2, maxLength: 2 }),
  })
  .map(({ steps, ends, lost }) => {
    const chain = chainOf(steps);
    const [low, high] = [(chain[0]?.slot ?? 0n) + 1n, chain.at(-1)?.slot ?? 0n];
    const [one, other] = ends.map((end) => low + (BigInt(end) % (high - low + 1n)));
    const [from, to] = [one ?? low, other ?? low].toSorted((a, b) => Number(a - b));
    const ledgers = lost.map((isLost) => chain.filter((_, index) => isLost[index] !== true));
    return { chain, slots: { from: from ?? low, to: to ?? low }, ledgers };
  });

function chainOf(steps: readonly number[]): readonly LedgerBlock[] {
  const chain: LedgerBlock[] = [{ slot: 100n, parentSlot: 99n, height: 70n }];
  for (const step of steps) {
    const { slot: parentSlot, height } = chain.at(-1) ?? { slot: 0n, height: 0n };
    chain.push({ slot: parentSlot + BigInt(step), parentSlot, height: height + 1n });
  }
  return chain;
}

/** The answer of an honest node with these blocks; null if it lists none behind the end. */
function shownOf(ledger: readonly LedgerBlock[], { from, to }: Slots): ListedBlocks | null {
  const first = ledger.find(({ slot }) => slot >= from);
  const last = ledger.find(({ slot }) => slot >= to);
  if (first === undefined || last === undefined) return null;
  const count = BigInt(ledger.filter(({ slot }) => slot >= first.slot && slot <= last.slot).length);
  return { first, last, count };
}

function holds(ledger: readonly LedgerBlock[], slots: Slots): boolean {
  const shown = shownOf(ledger, slots);
  return shown !== null && hasAllOf(slots, shown);
}

/** The blocks of these slots that a ledger lacks. */
function lacks(
  chain: readonly LedgerBlock[],
  ledger: readonly LedgerBlock[],
  { from, to }: Slots,
): readonly LedgerBlock[] {
  return chain.filter((block) => block.slot >= from && block.slot <= to && !ledger.includes(block));
}

describe('the slots that count as complete on a node', () => {
  it('contain no slot whose block the node lacks, whatever it lost', () => {
    fc.assert(
      fc.property(histories, ({ chain, slots, ledgers }) => {
        for (const ledger of ledgers)
          if (holds(ledger, slots)) expect(lacks(chain, ledger, slots)).toEqual([]);
      }),
    );
  });

  it('are all slots between two linked blocks of the node, skipped slots included', () => {
    fc.assert(
      fc.property(histories, ({ chain, slots }) => {
        const after = chain.findIndex(({ slot }) => slot >= slots.to);
        const within = chain.filter(({ slot }, index) => slot >= slots.from && index <= after);
        expect(holds(within, slots)).toBe(true);
        for (const missing of within)
          expect(
            holds(
              within.filter((block) => block !== missing),
              slots,
            ),
          ).toBe(false);
      }),
    );
  });
});

describe('slots that the chain has skipped', () => {
  const before = { slot: 10n, parentSlot: 9n, height: 5n };
  const after = { slot: 20n, parentSlot: 10n, height: 6n };

  it('are proved by the next block, which names the block before them as its parent', () => {
    expect(holds([before, after], { from: 11n, to: 19n })).toBe(true);
    expect(holds([after], { from: 11n, to: 19n })).toBe(true);
  });

  it('are not distinguished from lost ones by the next block when its parent is among them', () => {
    expect(holds([before, { ...after, parentSlot: 15n, height: 7n }], { from: 11n, to: 19n })).toBe(false);
  });

  it('are proved by no list that ends before them', () => {
    expect(holds([before], { from: 11n, to: 19n })).toBe(false);
  });
});
