import { describe, expect, it } from 'vitest';
import { isSameFinding } from '../../src/deposits/credits/agreed-transaction.ts';
import { findingOf } from '../../src/domain/credits.ts';
import type { BlockFinding } from '../../src/domain/deposit.ts';
import { account, ours, PAYER, terms, transaction } from '../domain/credits-support.ts';

const known = ours({ assets: [terms('SOL')] });

/** The outflow of a hot wallet, and the part that a deposit address receives. */
function moved(left: bigint, came: bigint): BlockFinding {
  const accounts = [PAYER, account('hot1', 100n, 100n - left), account('dep1', 0n, came)];
  return findingOf({ transactions: [transaction({ accounts })] }, known);
}

describe('the answers of two nodes about a transaction', () => {
  it('are equal only when inflows and outflows are equal', () => {
    expect(moved(10n, 5n).outflows).not.toEqual([]);
    expect(isSameFinding(moved(10n, 5n), moved(10n, 5n))).toBe(true);
    expect(isSameFinding(moved(10n, 5n), moved(11n, 5n))).toBe(false);
    expect(isSameFinding(moved(10n, 5n), { ...moved(10n, 5n), outflows: [] })).toBe(false);
    expect(isSameFinding(moved(10n, 5n), moved(10n, 6n))).toBe(false);
  });
});
