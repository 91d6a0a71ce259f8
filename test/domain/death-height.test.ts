import { describe, expect, it } from 'vitest';
import { agreedLastHeight } from '../../src/solana/proof/judge.ts';
import { ATTEMPT } from './evidence.ts';

describe('agreedLastHeight', () => {
  const last = (lastValidBlockHeight: bigint, originHeight = 1000n, blockhashHeight = 1000n) =>
    agreedLastHeight({ ...ATTEMPT, blockhashHeight, lastValidBlockHeight }, originHeight);

  it('is counted from the quorum height of the blockhash, plus one if the attempt claims more', () => {
    expect(last(1149n)).toBe(1150n);
    expect(last(1150n)).toBe(1150n);
    expect(last(1151n)).toBe(1151n);
  });

  it('ignores a claim that lowers it, and one that is far too high', () => {
    expect(last(1005n, 1000n, 855n)).toBe(1150n);
    expect(last(10n ** 15n)).toBe(1151n);
    expect(last(1150n, 1000n, 10n ** 15n)).toBe(1151n);
  });
});
