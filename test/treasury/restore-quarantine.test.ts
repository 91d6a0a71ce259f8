import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BLOCKHASH_LIFE } from '../../src/solana/proof/judge.ts';
import { LISTED_LATE, quarantineEnd } from '../../src/treasury/restore-quarantine.ts';

const SAFE = BLOCKHASH_LIFE + LISTED_LATE;
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const honest = (least: number) =>
  fc.array(fc.bigInt({ min: 400_000_000n, max: 400_000_900n }), { minLength: least, maxLength: 6 });
const anything = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const highest = (heights: readonly bigint[]): bigint => heights.reduce((a, b) => (a > b ? a : b));

describe('the end of a gap in the record', () => {
  it('is late enough for what the highest honest node has confirmed, whatever one other node says', () => {
    fc.assert(
      fc.property(honest(1), anything, (heights, lie) => {
        const end = quarantineEnd([...heights, lie], quorumOf(heights.length + 1), null);
        expect(end).toBeGreaterThanOrEqual(highest(heights) + SAFE);
      }),
    );
  });

  it('comes, whatever one of three or more says, and although that was stored before', () => {
    fc.assert(
      fc.property(honest(2), anything, anything, (heights, lie, stored) => {
        const nodes = [lie, ...heights];
        const end = quarantineEnd(nodes, quorumOf(nodes.length), stored + 500_000_000n) ?? 0n;
        expect(end).toBeLessThanOrEqual(highest(heights) + 2n * 10_000n + SAFE);
      }),
    );
  });

  it('comes once the one of two that lied is gone or cured', () => {
    const stored = quarantineEnd([1_000n, 10n ** 15n], 2, null);
    expect(stored).toBe(10n ** 15n + SAFE);
    expect(quarantineEnd([1_100n, 1_090n], 2, stored)).toBe(1_100n + SAFE);
  });

  it('stays where it is while the chain goes on, and while fewer than a quorum tell', () => {
    expect(quarantineEnd([2_000n, 2_001n], 2, 1_300n)).toBe(1_300n);
    expect(quarantineEnd([5n], 2, 400_000_000n)).toBe(400_000_000n);
    expect(quarantineEnd([5n], 2, null)).toBeNull();
  });
});
