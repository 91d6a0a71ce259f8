import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BLOCKHASH_LIFE } from '../../src/solana/proof/judge.ts';
import { MAX_LISTING_LAG, quarantineEnd } from '../../src/treasury/restore-quarantine.ts';

const SAFE = BLOCKHASH_LIFE + MAX_LISTING_LAG;
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const honest = (least: number) =>
  fc.array(fc.bigInt({ min: 400_000_000n, max: 400_000_900n }), { minLength: least, maxLength: 6 });
const anything = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const highest = (heights: readonly bigint[]): bigint => heights.reduce((a, b) => (a > b ? a : b));

describe('the end of a gap after a restore', () => {
  it('follows the highest height that an honest node confirmed, whatever one other node returns', () => {
    fc.assert(
      fc.property(honest(1), anything, (heights, lie) => {
        const end = quarantineEnd([...heights, lie], quorumOf(heights.length + 1), null);
        expect(end).toBeGreaterThanOrEqual(highest(heights) + SAFE);
      }),
    );
  });

  it('is reached, whatever one of three or more nodes returned, even if that was stored before', () => {
    fc.assert(
      fc.property(honest(2), anything, anything, (heights, lie, stored) => {
        const nodes = [lie, ...heights];
        const end = quarantineEnd(nodes, quorumOf(nodes.length), stored + 500_000_000n) ?? 0n;
        expect(end).toBeLessThanOrEqual(highest(heights) + 2n * 10_000n + SAFE);
      }),
    );
  });

  it('is reached once the lying one of two nodes is removed or repaired', () => {
    const stored = quarantineEnd([1_000n, 10n ** 15n], 2, null);
    expect(stored).toBe(10n ** 15n + SAFE);
    expect(quarantineEnd([1_100n, 1_090n], 2, stored)).toBe(1_100n + SAFE);
  });

  it('does not move while the chain grows, nor while fewer than a quorum answer', () => {
    expect(quarantineEnd([2_000n, 2_001n], 2, 1_300n)).toBe(1_300n);
    expect(quarantineEnd([5n], 2, 400_000_000n)).toBe(400_000_000n);
    expect(quarantineEnd([5n], 2, null)).toBeNull();
  });
});
