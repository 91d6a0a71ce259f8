import fc from 'fast-check';
import type { AccountChange, ScannedTransaction, TokenChange } from '../../src/domain/deposit.ts';
import { ata, TOKEN, TOKEN_2022, transaction } from './credits-support.ts';

export const U64_MAX = 2n ** 64n - 1n;
/** `dep1`, `dep2`, `hot1` and `hot2` are watched wallets. */
export const WALLETS = ['dep1', 'dep2', 'hot1', 'hot2', 'stranger', 'other'];
export const MINTS = ['usd', 'eur', 'fake'];
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

const holding = fc.option(
  fc.record({
    owner: wallet,
    program: fc.constantFrom(TOKEN, TOKEN_2022),
    decimals: fc.constantFrom(6, 9),
    amount,
  }),
  { nil: null },
);
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

/** A transaction of any of these wallets, which may be impossible on the chain: its changes need not balance. */
export const anyTransaction: fc.Arbitrary<ScannedTransaction> = fc
  .record({
    signature: fc.constantFrom('ours', 'theirs'),
    error: fc.constantFrom(null, null, null, 'AccountInUse'),
    feeLamports: amount,
    accounts,
    tokens,
  })
  .map((parts) => transaction(parts));
