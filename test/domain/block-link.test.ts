import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isParent, linkedPrefix, parentOf, walkBack } from '../../src/domain/block-link.ts';
import type { BlockHeader } from '../../src/domain/deposit.ts';

/** A chain of blocks with skipped slots; the first is the cursor. */
const chains = fc
  .array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 40 })
  .map((steps) => chainOf(steps));

function chainOf(steps: readonly number[], fork = 'main'): readonly BlockHeader[] {
  const chain: BlockHeader[] = [];
  let slot = 100n;
  for (const [index, step] of steps.entries()) {
    const parentSlot = slot;
    slot += BigInt(step);
    const names = { blockhash: `${fork}-${slot}`, previousBlockhash: chain.at(-1)?.blockhash ?? 'before' };
    chain.push({ slot, parentSlot, height: 70n + BigInt(index), time: null, ...names });
  }
  return chain;
}

function endsOf(chain: readonly BlockHeader[]): { cursor: BlockHeader; anchor: BlockHeader } {
  const [cursor] = chain;
  const anchor = chain.at(-1);
  if (cursor === undefined || anchor === undefined) throw new Error('a chain has two blocks');
  return { cursor, anchor };
}

/** What nodes return: some blocks are missing, some are forged. */
function returnedBlocks(chain: readonly BlockHeader[], choices: readonly number[]): Map<bigint, BlockHeader> {
  const blocks = new Map<bigint, BlockHeader>();
  for (const [index, block] of chain.entries()) {
    const choice = choices[index % choices.length] ?? 0;
    if (choice === 1) continue;
    blocks.set(block.slot, choice === 2 ? forged(block, index) : block);
  }
  return blocks;
}

function forged(block: BlockHeader, index: number): BlockHeader {
  const lies: readonly Partial<BlockHeader>[] = [
    { blockhash: 'forged' },
    { height: block.height + 1n },
    { slot: block.slot + 1n },
  ];
  return { ...block, ...lies[index % lies.length] };
}

describe('the walk from an agreed block back to the scan cursor', () => {
  it('returns every block in between, each the parent of the next, whatever nodes hid or forged at first', () => {
    fc.assert(
      fc.property(chains, fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1 }), (chain, choices) => {
        const { cursor, anchor } = endsOf(chain);
        const known = returnedBlocks(chain, choices);
        const asked: bigint[] = [];
        for (;;) {
          const walk = walkBack(cursor, anchor, ({ slot }) => known.get(slot));
          if (walk.kind === 'linked') {
            expect(walk.headers).toEqual(chain.slice(1));
            return;
          }
          if (walk.kind === 'contradicted') throw new Error('the cursor is in the chain');
          expect(asked).not.toContain(walk.name.slot);
          asked.push(walk.name.slot);
          const truth = chain.find((block) => block.slot === walk.name.slot);
          if (truth === undefined) throw new Error('asks for a slot without a block');
          known.set(truth.slot, truth);
        }
      }),
    );
  });

  it('requests the missing block by the hash that its child names, and none below it', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (chain, pick) => {
        const { cursor, anchor } = endsOf(chain);
        fc.pre(chain.length > 2);
        const at = 1 + (pick % (chain.length - 2));
        const [missing, child] = chain.slice(at, at + 2);
        if (missing === undefined || child === undefined) throw new Error('picked outside of the chain');
        const known = new Map(chain.filter((block) => block !== missing).map((block) => [block.slot, block]));
        const walk = walkBack(cursor, anchor, ({ slot }) => known.get(slot));
        expect(walk).toEqual({ kind: 'wanted', name: parentOf(child), child });
        expect(parentOf(child).blockhash).toBe(missing.blockhash);
      }),
    );
  });

  it('never links a chain that lacks the cursor block', () => {
    fc.assert(
      fc.property(chains, fc.constantFrom('hash', 'height', 'slot'), (chain, lie) => {
        const { cursor, anchor } = endsOf(chain);
        const known = new Map(chain.map((block) => [block.slot, block]));
        const wrong = {
          slot: lie === 'slot' ? cursor.slot - 1n : cursor.slot,
          blockhash: lie === 'hash' ? 'other' : cursor.blockhash,
          height: lie === 'height' ? cursor.height - 1n : cursor.height,
        };
        const walk = walkBack(wrong, anchor, ({ slot }) => known.get(slot));
        expect(walk.kind).not.toBe('linked');
      }),
    );
  });

  it('does not follow a block that claims a parent after itself', () => {
    const cursor = { slot: 1n, blockhash: 'a', height: 1n };
    const names = { blockhash: 'x', previousBlockhash: 'x' };
    const loop: BlockHeader = { slot: 9n, parentSlot: 9n, height: 10n ** 6n, time: null, ...names };
    expect(walkBack(cursor, loop, () => loop).kind).toBe('contradicted');
  });
});

describe('the linked blocks after the scan cursor', () => {
  it('end before the first block that does not name the previous block as its parent', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (chain, pick) => {
        const { cursor } = endsOf(chain);
        const at = 1 + (pick % (chain.length - 1));
        const listed = chain.slice(1).filter((_, index) => index + 1 !== at);
        expect(linkedPrefix(cursor, listed)).toEqual(chain.slice(1, at));
      }),
    );
  });

  it('match a parent by its slot, its hash and its height', () => {
    const { cursor, anchor } = endsOf(chainOf([1, 3]));
    expect(isParent(cursor, anchor)).toBe(true);
    for (const lie of [{ slot: 7n }, { blockhash: 'x' }, { height: 5n }])
      expect(isParent({ ...cursor, ...lie }, anchor)).toBe(false);
  });
});

describe('the parent check', () => {
  const previous = { slot: 10n, blockhash: 'hash-10', height: 7n };
  const next: BlockHeader = {
    slot: 13n,
    blockhash: 'hash-13',
    parentSlot: 10n,
    previousBlockhash: 'hash-10',
    height: 8n,
    time: null,
  };

  it('accepts the next block across slots without a block', () => {
    expect(isParent(previous, next)).toBe(true);
  });

  it.each([
    ['names another slot', { parentSlot: 11n }],
    ['names another hash of the same slot, as on a fork', { previousBlockhash: 'hash-10b' }],
    ['skips a height', { height: 9n }],
    ['has the height of its parent', { height: 7n }],
    ['is not after it, as the first block is its own parent', { slot: 10n }],
  ])('refuses a block that %s', (_what, change) => {
    expect(isParent(previous, { ...next, ...change })).toBe(false);
  });

  it('accepts only the direct child in a chain', () => {
    fc.assert(
      fc.property(chains, (chain) => {
        for (const [i, one] of chain.entries())
          for (const [j, other] of chain.entries()) expect(isParent(one, other)).toBe(j === i + 1);
      }),
      { numRuns: 50 },
    );
  });
});
