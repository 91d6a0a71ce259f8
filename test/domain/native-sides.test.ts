import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminal, mayFollow, SETTLEMENT_STATUSES, statesBefore } from '../../src/domain/settlement.ts';
import { WITHDRAWAL_STATUSES } from '../../src/domain/withdrawal.ts';
import { checkNativeBalances } from '../../src/withdrawals/refusals.ts';

const MINIMUM = 890_880n;
const SIDES = {
  hotLamports: 10_000_000n,
  amountLamports: 1_000_000n,
  feeLamports: 5_000n,
  rentLamports: 0n,
  rentMinimumLamports: MINIMUM,
};

function reasonOf(changes: Partial<typeof SIDES>): string {
  const answer = checkNativeBalances({ ...SIDES, ...changes });
  return answer === null ? 'ok' : `${answer.kind}: ${answer.reason.code}`;
}

describe('checkNativeBalances', () => {
  it('allows a transfer that leaves each side empty or at the minimum', () => {
    expect(reasonOf({})).toBe('ok');
    expect(reasonOf({ amountLamports: MINIMUM })).toBe('ok');
    expect(reasonOf({ hotLamports: 1_005_000n })).toBe('ok');
    expect(reasonOf({ hotLamports: 1_005_000n + MINIMUM })).toBe('ok');
  });

  it('names the side at fault', () => {
    expect(reasonOf({ amountLamports: MINIMUM - 1n })).toBe('rejected: amount_below_minimum');
    expect(reasonOf({ hotLamports: 1_004_999n })).toBe('awaiting_funds: insufficient_funds');
    expect(reasonOf({ hotLamports: 1_005_001n })).toBe('awaiting_funds: hot_wallet_below_minimum');
    expect(reasonOf({ hotLamports: 1_005_000n + MINIMUM - 1n })).toBe(
      'awaiting_funds: hot_wallet_below_minimum',
    );
    expect(reasonOf({ rentLamports: 9_000_000n })).toBe('awaiting_funds: insufficient_funds');
  });

  it('checks only the fee payer of a token withdrawal', () => {
    expect(reasonOf({ amountLamports: 0n, rentLamports: 2_039_280n })).toBe('ok');
    expect(reasonOf({ amountLamports: 0n, rentLamports: 2_039_280n, hotLamports: 2_044_279n })).toContain(
      'awaiting_funds',
    );
  });

  it('never allows a transfer that the chain would refuse', () => {
    const lamports = fc.bigInt({ min: 0n, max: 4n * MINIMUM });
    const sides = fc.record({
      hot: lamports,
      amount: lamports,
      fee: lamports,
      rent: lamports,
    });
    fc.assert(
      fc.property(sides, ({ hot, amount, fee, rent }) => {
        const answer = checkNativeBalances({
          hotLamports: hot,
          amountLamports: amount,
          feeLamports: fee,
          rentLamports: rent,
          rentMinimumLamports: MINIMUM,
        });
        const left = hot - amount - fee - rent;
        const chainTakes = left === 0n || left >= MINIMUM;
        const payable = amount === 0n || amount >= MINIMUM;
        expect(answer === null).toBe(chainTakes && payable);
      }),
    );
  });
});

describe('the states of a withdrawal', () => {
  const status = fc.constantFrom(...WITHDRAWAL_STATUSES);

  it('never change once terminal', () => {
    fc.assert(
      fc.property(status, status, (from, to) => !isTerminal(from) || mayFollow(from, to) === (from === to)),
    );
    expect(WITHDRAWAL_STATUSES.filter(isTerminal)).toEqual(['finalized', 'rejected', 'cancelled', 'failed']);
  });

  it('have predecessors that match the successors in reverse', () => {
    fc.assert(
      fc.property(status, status, (from, to) => statesBefore(to).includes(from) === mayFollow(from, to)),
    );
  });

  it('never release money in flight', () => {
    for (const to of ['rejected', 'cancelled'] as const) {
      for (const from of ['sending', 'confirmed'] as const) expect(mayFollow(from, to)).toBe(false);
    }
    expect(mayFollow('confirmed', 'sending')).toBe(true);
  });
});

it('the list of states beside the settlement type names every state and its successors', () => {
  const text = readFileSync(new URL('../../src/domain/settlement.ts', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^ \* \| (\w+) \| [^|]+ \|([^|]*)\|$/gm)].filter(
    ([, state]) => state !== 'state',
  );
  const listed = rows.map(([, state, next = '']) => {
    const isEvery = next.includes('every state but requested');
    const named = SETTLEMENT_STATUSES.filter((one) =>
      isEvery ? one !== 'requested' && one !== state : new RegExp(`\\b${one}\\b`).test(next),
    );
    return [state, named];
  });
  const allowed = SETTLEMENT_STATUSES.map((from) => [
    from,
    SETTLEMENT_STATUSES.filter((to) => to !== from && mayFollow(from, to)),
  ]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(allowed));
});
