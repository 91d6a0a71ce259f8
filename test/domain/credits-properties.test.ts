import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findingOfTransaction } from '../../src/domain/credits.ts';
import type {
  AccountChange,
  BlockFinding,
  ScannedTransaction,
  TokenChange,
} from '../../src/domain/deposit.ts';
import { ata, ours, TOKEN, TOKEN_2022, terms, transaction } from './credits-support.ts';

const U64_MAX = 2n ** 64n - 1n;
const WALLETS = ['dep1', 'dep2', 'hot1', 'hot2', 'stranger', 'other'];
const MINTS = ['usd', 'eur', 'fake'];
const known = ours({
  assets: [terms('SOL', { minimumDeposit: 3n }), terms('usd'), terms('eur', { depositsOn: false })],
  isAttempt: (signature) => signature === 'ours',
});

/** Small numbers meet each other and the minimum; large ones need all 64 bits. */
const amount = fc.oneof(fc.bigInt(0n, 5n), fc.bigInt(U64_MAX - 5n, U64_MAX), fc.bigInt(0n, U64_MAX));
const wallet = fc.constantFrom(...WALLETS);

const account = fc.record({ signer: fc.boolean(), before: amount, after: amount }).map(
  (sides) =>
    (address: string): AccountChange => ({ address, ...sides }),
);
const accounts = fc
  .tuple(fc.shuffledSubarray(WALLETS, { minLength: 1 }), fc.array(account, { minLength: 6, maxLength: 6 }))
  .map(([names, make]) => names.flatMap((name, index) => make[index]?.(name) ?? []));

const holding = fc.option(fc.record({ owner: wallet, program: fc.constantFrom(TOKEN, TOKEN_2022), amount }), {
  nil: null,
});
const token: fc.Arbitrary<TokenChange> = fc
  .record({
    whose: wallet,
    mint: fc.constantFrom(...MINTS),
    astray: fc.boolean(),
    before: holding,
    after: holding,
  })
  .map(({ whose, mint, astray, before, after }) => {
    const name = ata(whose, mint);
    return { account: astray ? `${name}/astray` : name, mint, before, after };
  });
const tokens = fc.uniqueArray(token, {
  selector: ({ account: name, mint }) => `${name} ${mint}`,
  maxLength: 6,
});

const anyTransaction: fc.Arbitrary<ScannedTransaction> = fc
  .record({
    signature: fc.constantFrom('ours', 'theirs'),
    error: fc.constantFrom(null, null, null, 'AccountInUse'),
    feeLamports: amount,
    accounts,
    tokens,
  })
  .map((parts) => transaction(parts));

/** What one wallet has more, or less, of one asset: arithmetic on both sides of the transaction alone. */
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

it('inflows less outflows are what every watched wallet has more, to the last unit', () => {
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

it('every movement is positive, and its account and asset name it within the transaction', () => {
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

it('nothing arrives by a transaction that failed, and no tokens leave', () => {
  fc.assert(
    fc.property(anyTransaction, (shown) => {
      const { inflows, outflows } = findingOfTransaction({ ...shown, error: 'AccountInUse' }, known);
      expect(inflows).toEqual([]);
      expect(outflows.every(({ asset }) => asset === 'SOL')).toBe(true);
    }),
  );
});

it('what is credited is beyond every doubt', () => {
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

it('the order of accounts, but for the fee payer, and of token accounts changes nothing', () => {
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
