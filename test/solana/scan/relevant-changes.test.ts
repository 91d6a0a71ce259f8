import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findingOf } from '../../../src/domain/credits.ts';
import type { ScannedTransaction } from '../../../src/domain/deposit.ts';
import { relevantChanges } from '../../../src/solana/scan/relevant-changes.ts';
import { anyTransaction, WALLETS } from '../../domain/any-transaction.ts';
import { account, ours, PAYER, terms, tokens, transaction } from '../../domain/credits-support.ts';

const known = ours({
  assets: [terms('SOL', { minimumDeposit: 3n }), terms('usd'), terms('eur', { depositsOn: false })],
  isAttempt: (signature) => signature === 'ours',
});
const isOurs = (address: string): boolean => known.kindOf(address) !== undefined;

function finding(one: ScannedTransaction | null) {
  return findingOf({ transactions: one === null ? [] : [one] }, known);
}

/** A Sluice signer withdraws all lamports from its token account, and pays them to another wallet of ours. */
function emptied(held: ReturnType<typeof tokens>): ScannedTransaction {
  const signer = account('dep1', 5n, 5n, { signer: true });
  const accounts = [PAYER, signer, account(held.account, 10n, 0n), account('dep2', 0n, 10n)];
  return transaction({ accounts, tokens: [held] });
}

describe('the relevant changes of a transaction', () => {
  it('yield the same deposits, whatever other wallets are watched', () => {
    fc.assert(
      fc.property(anyTransaction, fc.subarray(WALLETS), (shown, others) => {
        const mayBeOurs = (address: string) => isOurs(address) || others.includes(address);
        expect(finding(relevantChanges(shown, mayBeOurs))).toEqual(finding(shown));
      }),
      { numRuns: 1_000 },
    );
  });

  it('contain the outflow of a token account of Sluice that its signer closed', () => {
    const closed = tokens('dep1', 'usd', 1n, null);
    const shown = emptied(closed);
    expect(finding(shown).inflows).toMatchObject([{ wallet: 'dep2', reason: 'internal' }]);
    expect(finding(relevantChanges(shown, isOurs))).toEqual(finding(shown));
  });

  it('contain the lamports that left a token account of Sluice, which keeps its tokens', () => {
    const kept = tokens('dep1', 'usd', 9n, 9n);
    const shown = emptied(kept);
    expect(finding(shown).inflows).toMatchObject([{ wallet: 'dep2', reason: 'internal' }]);
    expect(relevantChanges(shown, isOurs)).toEqual(shown);
    expect(finding(relevantChanges(shown, isOurs))).toEqual(finding(shown));
  });

  it('are empty when watched wallets are only named', () => {
    const named = transaction({
      accounts: [PAYER, account('dep1', 5n, 5n), account('hot1', 7n, 7n)],
      tokens: [tokens('dep1', 'usd', 9n, 9n)],
    });
    expect(relevantChanges(named, isOurs)).toBeNull();
  });

  it('contain no watched account that neither signs nor changes', () => {
    const named = [account('dep1', 5n, 5n), account('hot1', 7n, 7n)];
    const paid = account('dep2', 0n, 4n);
    const still = tokens('dep1', 'usd', 9n, 9n);
    const shown = transaction({ accounts: [PAYER, ...named, paid], tokens: [still] });
    expect(relevantChanges(shown, isOurs)).toEqual({ ...shown, accounts: [PAYER, paid], tokens: [] });
  });

  it('contain no foreign account but the fee payer', () => {
    const many = Array.from({ length: 60 }, (_, index) => account(`other${index}`, 1n, 2n));
    const foreign = tokens('stranger', 'usd', 1n, 2n);
    const paid = account('dep1', 0n, 4n);
    const shown = transaction({ accounts: [PAYER, ...many, paid], tokens: [foreign] });
    expect(relevantChanges(shown, isOurs)).toEqual({ ...shown, accounts: [PAYER, paid], tokens: [] });
  });
});
