import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeSpend, type RecordedSpend } from '../../src/domain/spends.ts';

const wallet = 'hot';
const others = fc.array(fc.constantFrom('a', 'b', 'c'));
const state = fc.constantFrom('prepared', 'signed', 'landed', 'failed', 'dead' as const);
type Recorded = Extract<RecordedSpend, { state: string }>;
const attempt = (of: Recorded['state']): Recorded => ({
  settlementId: 'w',
  n: 2,
  state: of,
  isAdopted: false,
  slot: null,
  error: null,
});

describe('a transaction in the history of the hot wallet', () => {
  it('is fine exactly where an attempt on record that was not given up has its signature', () => {
    fc.assert(
      fc.property(state, others, fc.boolean(), (of, signers, isProved) => {
        const { kind } = judgeSpend(wallet, signers, attempt(of), isProved);
        const isGivenUp = isProved && (of === 'dead' || of === 'failed');
        expect(kind).toBe(isGivenUp ? 'dead_attempt_landed' : 'on_record');
      }),
    );
    expect(judgeSpend(wallet, [], attempt('dead'), true)).toEqual({
      kind: 'dead_attempt_landed',
      settlementId: 'w',
      n: 2,
    });
  });

  it('is an unknown spend where the wallet signed it, first or last, and nothing is on record', () => {
    fc.assert(
      fc.property(others, others, (before, after) => {
        expect(judgeSpend(wallet, [...before, wallet, ...after], null, true)).toEqual({
          kind: 'unknown_spend',
        });
      }),
    );
  });

  it('is no spend where only others signed: a deposit, an airdrop', () => {
    fc.assert(
      fc.property(others, (signers) => {
        expect(judgeSpend(wallet, signers, null, true)).toEqual({ kind: 'not_a_spend' });
      }),
    );
  });
});
