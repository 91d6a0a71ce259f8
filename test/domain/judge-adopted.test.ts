import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttemptFacts, Evidence } from '../../src/domain/attempt.ts';
import { adoptedLastHeight, BLOCKHASH_LIFE } from '../../src/solana/proof/judge.ts';
import { agreed, anyEvidence, coverage, deathEvidence, kindOf, nodeAnswer, RUNS } from './evidence.ts';

/** Adopted after the finalized block of height 1000, with a blockhash of unknown height. L is 1200. */
const ADOPTED: AttemptFacts = {
  signature: 'sig',
  blockhash: 'a-blockhash-of-its-buyer',
  blockhashSlot: 2500n,
  blockhashHeight: 1000n,
  lastValidBlockHeight: 1200n,
  adoptedFrom: 'hash-1000',
};

const proof = (changes: Partial<Evidence> = {}) =>
  deathEvidence({
    finalizedHeights: [nodeAnswer('a', 1, 1201n), nodeAnswer('b', 2, 1210n)],
    coverage: coverage({ last: { height: 1201n, blockhash: 'hash-1201' } }),
    ...changes,
  });

describe('an adopted attempt is dead', () => {
  it('with heights above L, every linked block from its adoption to L, and later nulls', () => {
    expect(kindOf(proof(), ADOPTED)).toBe('dead');
  });

  it('never while a linked block of its lifetime is unread or holds the signature', () => {
    let dead = 0;
    const heights = fc.array(fc.bigInt({ min: 1190n, max: 1230n }), { minLength: 2, maxLength: 2 });
    const last = fc.bigInt({ min: 1190n, max: 1230n });
    fc.assert(
      fc.property(anyEvidence, heights, last, (evidence, [one = 0n, other = 0n], height) => {
        const { coverage: read } = evidence;
        const finalizedHeights = [
          nodeAnswer('a', 1, one),
          nodeAnswer('b', 2, other),
          nodeAnswer('c', 3, one),
        ];
        const blocks = read === null ? null : { ...read, last: { ...read.last, height } };
        const changed = { ...evidence, finalizedHeights, coverage: blocks };
        if (kindOf(changed, ADOPTED) !== 'dead') return;
        dead += 1;
        expect(blocks?.first).toMatchObject({ blockhash: 'hash-1000', height: changed.origin?.height });
        expect(blocks?.last.height).toBeGreaterThan(1200n);
        expect(blocks?.containsSignature).toBe(false);
        expect(blocks?.minAgreeingNodes).toBeGreaterThanOrEqual(changed.quorum);
      }),
      RUNS,
    );
    expect(dead).toBeGreaterThan(20);
  });

  it.each<[string, Partial<Evidence>]>([
    ['the blocks end below L, even if above one lifetime after its adoption', { coverage: coverage() }],
    ['its first block is not shown', { origin: null }],
    ['another block is shown in its place', { origin: agreed({ blockhash: ADOPTED.blockhash }) }],
    ['no quorum is above L', { finalizedHeights: [nodeAnswer('a', 1, 1200n), nodeAnswer('b', 2, 1200n)] }],
    ['a finalized bank still accepts its blockhash', { stillTaking: ['a', 'b'] }],
  ])('not when %s', (_, changes) => {
    expect(kindOf(proof(changes), ADOPTED)).not.toBe('dead');
  });

  it('not because the block in that slot has another hash than its own', () => {
    const by = agreed({ slot: 2501n, blockhash: 'another' });
    const displacement = { slot: 2500n, by, parentSlot: 2499n, sequence: 20 };
    for (const origin of [null, agreed()])
      expect(kindOf(proof({ origin, coverage: null, displacement }), ADOPTED)).not.toBe('dead');
  });
});

describe('the last height of an adopted message', () => {
  it('is never below that of any blockhash that a node accepted', () => {
    const near = fc.bigInt({ min: 5_000n, max: 5_200n });
    const anyHeights = fc.array(near, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(anyHeights, fc.nat(), fc.bigInt({ min: 0n, max: BLOCKHASH_LIFE }), (heights, at, age) => {
        const accepting = heights[at % heights.length] ?? 0n;
        const last = adoptedLastHeight(heights, Math.floor(heights.length / 2) + 1);
        expect(last).toBeGreaterThanOrEqual(accepting - age + BLOCKHASH_LIFE);
      }),
    );
  });

  it('is unknown with too few nodes, and ignores a node far above the others', () => {
    expect(adoptedLastHeight([5_000n], 2)).toBeNull();
    expect(adoptedLastHeight([5_000n, 9_000n, 5_001n], 2)).toBeNull();
    expect(adoptedLastHeight([5_000n, 5_010n], 2)).toBe(5_160n);
  });
});
