import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BlockHeader } from '../../../src/domain/deposit.ts';
import { links } from '../../../src/solana/scan/links.ts';

const previous = { slot: 10n, blockhash: 'hash-10', height: 7n };
const next: BlockHeader = {
  slot: 13n,
  blockhash: 'hash-13',
  parentSlot: 10n,
  previousBlockhash: 'hash-10',
  height: 8n,
  time: null,
};

it('the next block links to its parent across slots without a block', () => {
  expect(links(previous, next)).toBe(true);
});

it.each([
  ['names another slot', { parentSlot: 11n }],
  ['names another hash of the same slot, as on a fork', { previousBlockhash: 'hash-10b' }],
  ['leaves a height out', { height: 9n }],
  ['has the height of its parent', { height: 7n }],
  ['is not behind it, as the first block of all is its own parent', { slot: 10n }],
])('a block that %s does not', (_what, change) => {
  expect(links(previous, { ...next, ...change })).toBe(false);
});

it('in a chain of blocks every block links to the one before it, and to no other', () => {
  const steps = fc.array(fc.bigInt(1n, 5n), { minLength: 2, maxLength: 30 });
  fc.assert(
    fc.property(steps, (gaps) => {
      const chain = gaps.reduce<BlockHeader[]>((blocks, gap) => {
        const parent = blocks.at(-1) ?? { slot: 0n, blockhash: '0', height: 0n };
        const slot = parent.slot + gap;
        const header = {
          slot,
          blockhash: `${slot}`,
          parentSlot: parent.slot,
          previousBlockhash: parent.blockhash,
          height: parent.height + 1n,
          time: null,
        };
        return [...blocks, header];
      }, []);
      for (const [i, one] of chain.entries())
        for (const [j, other] of chain.entries()) expect(links(one, other)).toBe(j === i + 1);
    }),
    { numRuns: 50 },
  );
});
