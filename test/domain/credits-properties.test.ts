import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findingOfTransaction } from '../../src/domain/credits.ts';
import type { BlockFinding, ScannedTransaction } from '../../src/domain/deposit.ts';
import { anyTransaction, MINTS, U64_MAX, WALLETS } from './any-transaction.ts';
import { ata, ours, TOKEN, terms } from './credits-support.ts';

const known = ours({
  assets: [terms('SOL', { minimumDeposit: 3n }), terms('usd'), terms('eur', { depositsOn: false })],
  isAttempt: (signature) => signature === 'ours',
});

/** The balance change of one wallet in one asset, from both sides of the transaction alone. */
function changeOf(
  { accounts: native, tokens: held }: ScannedTransaction,
  name: string,
  asset: string,
): bigint {
  if (asset === 'SOL')
    return native.reduce(
      (sum, { address, before, after }) => sum + (address === name ? after - before : 0n),
      0n,
    );
  return held.reduce((sum, { mint, before, after }) => {
    const of = (side: typeof before) => (mint === asset && side?.owner === name ? side.amount : 0n);
    return sum + of(after) - of(before);
  }, 0n);
}

function movedOf({ inflows, outflows }: BlockFinding, name: string, asset: string): bigint {
  const sum = (movements: readonly { wallet: string; asset: string; amount: bigint }[]) =>
    movements
      .filter((movement) => movement.wallet === name && movement.asset === asset)
      .reduce((total, movement) => total + movement.amount, 0n);
  return sum(inflows) - sum(outflows);
}

it('inflows minus outflows are the balance change of every watched wallet, to the last unit', () => {
  fc.assert(
    fc.property(anyTransaction, (shown) => {
      fc.pre(shown.error === null);
      const finding = findingOfTransaction(shown, known);
      for (const name of WALLETS)
        for (const asset of ['SOL', ...MINTS])
          expect(movedOf(finding, name, asset)).toBe(
            known.kindOf(name) === undefined ? 0n : changeOf(shown, name, asset),
          );
    }),
    { numRuns: 1_000 },
  );
});

it('every movement is positive, and its account and asset identify it within the transaction', () => {
  fc.assert(
    fc.property(anyTransaction, (shown) => {
      const { inflows, outflows } = findingOfTransaction(shown, known);
      for (const movements of [inflows, outflows]) {
        expect(movements.every((movement) => movement.amount > 0n)).toBe(true);
        expect(new Set(movements.map((movement) => `${movement.account} ${movement.asset}`)).size).toBe(
          movements.length,
        );
      }
    }),
    { numRuns: 1_000 },
  );
});

it('a failed transaction brings no inflow, and no outflow of tokens', () => {
  fc.assert(
    fc.property(anyTransaction, (shown) => {
      const { inflows, outflows } = findingOfTransaction({ ...shown, error: 'AccountInUse' }, known);
      expect(inflows).toEqual([]);
      expect(outflows.every(({ asset }) => asset === 'SOL')).toBe(true);
    }),
  );
});

it('a credited deposit satisfies every rule', () => {
  fc.assert(
    fc.property(anyTransaction, (shown) => {
      const { inflows } = findingOfTransaction(shown, known);
      for (const inflow of inflows.filter(({ reason }) => reason === null)) {
        const asset = known.asset(inflow.asset);
        expect([known.kindOf(inflow.wallet), asset?.depositsOn, shown.signature]).toEqual([
          'deposit',
          true,
          'theirs',
        ]);
        expect(inflow.amount >= (asset?.minimumDeposit ?? U64_MAX)).toBe(true);
        if (inflow.asset === 'SOL') continue;
        expect(inflow.account).toBe(ata(inflow.wallet, inflow.asset));
        const change = shown.tokens.find(
          ({ account: name, mint }) => name === inflow.account && mint === inflow.asset,
        );
        expect(change?.after).toMatchObject({ owner: inflow.wallet, program: TOKEN });
        expect(change?.before?.owner ?? inflow.wallet).toBe(inflow.wallet);
      }
    }),
    { numRuns: 1_000 },
  );
});

it('the result is independent of the order of accounts, except the fee payer, and of token accounts', () => {
  const sorted = ({ inflows, outflows, spends }: BlockFinding) =>
    [inflows, outflows, spends].map((list) =>
      list.map((one) => Object.values(one).map(String).join(' ')).toSorted(),
    );
  const shuffled = anyTransaction.chain((shown) => {
    const [payer, ...rest] = shown.accounts;
    return fc
      .tuple(
        fc.shuffledSubarray(rest, { minLength: rest.length }),
        fc.shuffledSubarray([...shown.tokens], { minLength: shown.tokens.length }),
      )
      .map(([others, mixed]) => ({
        shown,
        mixed: { ...shown, accounts: payer === undefined ? others : [payer, ...others], tokens: mixed },
      }));
  });
  fc.assert(
    fc.property(shuffled, ({ shown, mixed }) => {
      expect(sorted(findingOfTransaction(mixed, known))).toEqual(sorted(findingOfTransaction(shown, known)));
    }),
  );
});
