import { describe, expect, it } from 'vitest';
import { findingOfTransaction } from '../../src/domain/credits.ts';
import {
  account,
  ata,
  holding,
  inflowsOf,
  ours,
  PAYER,
  TOKEN,
  TOKEN_2022,
  terms,
  tokens,
  transaction,
} from './credits-support.ts';

const sol = (wallet: string, amount: bigint, reason: string | null = null) => ({
  account: wallet,
  wallet,
  asset: 'SOL',
  amount,
  reason,
});
const usd = (wallet: string, amount: bigint, reason: string | null = null, where = ata(wallet, 'usd')) => ({
  account: where,
  wallet,
  asset: 'usd',
  amount,
  reason,
});

describe('the inflow of a transaction', () => {
  it('is the lamports that each watched wallet gains', () => {
    const accounts = [PAYER, account('dep1', 5n, 12n), account('other', 0n, 9n), account('dep2', 0n, 1n)];
    expect(inflowsOf({ accounts })).toEqual([sol('dep1', 7n), sol('dep2', 1n)]);
  });

  it('is the tokens that each token account gains, by owner, from zero for a new account', () => {
    const changes = [
      tokens('dep1', 'usd', 40n, 100n),
      tokens('dep2', 'usd', null, 9n),
      tokens('x', 'usd', 90n, 0n),
    ];
    expect(inflowsOf({ tokens: changes })).toEqual([usd('dep1', 60n), usd('dep2', 9n)]);
  });

  it('is empty when no balance changes, and for a new token account without tokens', () => {
    const accounts = [PAYER, account('dep1', 5n, 5n)];
    const changes = [tokens('dep1', 'usd', 7n, 7n), tokens('dep2', 'usd', null, 0n)];
    expect(inflowsOf({ accounts, tokens: changes })).toEqual([]);
  });

  it('is empty in a failed transaction, whatever balances a node reports', () => {
    const failed = transaction({
      error: 'InsufficientFundsForRent',
      accounts: [PAYER, account('dep1', 0n, 7n)],
      tokens: [tokens('dep1', 'usd', 0n, 7n)],
    });
    expect(findingOfTransaction(failed, ours())).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('keeps every digit of 64 bits', () => {
    const most = 2n ** 64n - 1n;
    const accounts = [PAYER, account('dep1', 0n, most)];
    expect(inflowsOf({ accounts, tokens: [tokens('dep2', 'usd', 1n, most)] })).toEqual([
      sol('dep1', most),
      usd('dep2', most - 1n),
    ]);
  });

  it('does not count lamports of token accounts as SOL, because wrapped SOL is a separate asset', () => {
    const where = ata('dep1', 'wsol');
    const changes = {
      accounts: [PAYER, account(where, 0n, 2_039_280n + 5n)],
      tokens: [tokens('dep1', 'wsol', null, 5n)],
    };
    const arrived = { account: where, wallet: 'dep1', asset: 'wsol', amount: 5n };
    expect(inflowsOf(changes)).toEqual([{ ...arrived, reason: 'unknown_mint' }]);
    expect(inflowsOf(changes, ours({ assets: [terms('wsol')] }))).toEqual([{ ...arrived, reason: null }]);
  });

  it('counts the lamports that a closed foreign token account sends to a watched wallet', () => {
    const accounts = [
      PAYER,
      account(ata('stranger', 'usd'), 2_039_280n, 0n),
      account('dep1', 0n, 2_039_280n),
    ];
    expect(inflowsOf({ accounts, tokens: [tokens('stranger', 'usd', 0n, null)] })).toEqual([
      sol('dep1', 2_039_280n),
    ]);
  });

  it('keeps two mints of one account separate', () => {
    const where = ata('dep1', 'usd');
    const changes = [tokens('dep1', 'old', 70n, null, where), tokens('dep1', 'usd', null, 9n, where)];
    expect(findingOfTransaction(transaction({ tokens: changes }), ours())).toMatchObject({
      inflows: [{ asset: 'usd', amount: 9n, reason: null }],
      outflows: [{ asset: 'old', amount: 70n }],
    });
  });
});

describe('a change of owner', () => {
  const handed = {
    account: 'made-by-stranger',
    mint: 'usd',
    before: holding('stranger', 30n),
    after: holding('dep1', 100n),
  };

  it('is an inflow of the whole token balance, and is not credited', () => {
    expect(inflowsOf({ tokens: [handed] })).toEqual([usd('dep1', 100n, 'owner_changed', 'made-by-stranger')]);
  });

  it('is credited when the setting allows it, to deposit wallets only, and under the right program only', () => {
    const allowed = ours({ ownerChangeAllowed: true });
    expect(inflowsOf({ tokens: [handed] }, allowed)).toEqual([usd('dep1', 100n, null, 'made-by-stranger')]);
    const toHot = { ...handed, after: holding('hot1', 100n) };
    expect(inflowsOf({ tokens: [toHot] }, allowed)).toMatchObject([{ reason: 'hot_wallet' }]);
    const odd = { ...handed, after: holding('dep1', 100n, TOKEN_2022) };
    expect(inflowsOf({ tokens: [odd] }, allowed)).toMatchObject([{ reason: 'asset_changed' }]);
  });

  it('is an outflow of the whole balance from the previous owner', () => {
    const away = { ...handed, before: holding('dep2', 30n), after: holding('stranger', 100n) };
    const { inflows, outflows } = findingOfTransaction(transaction({ tokens: [away] }), ours());
    expect([inflows, outflows]).toEqual([
      [],
      [
        {
          signature: 'sig',
          account: 'made-by-stranger',
          wallet: 'dep2',
          ownerSigned: false,
          asset: 'usd',
          amount: 30n,
        },
      ],
    ]);
  });

  it('is detected when an early ledger omits the previous owner', () => {
    const omitted = { ...handed, before: { owner: null, program: null, decimals: null, amount: 30n } };
    expect(inflowsOf({ tokens: [omitted] })).toMatchObject([{ amount: 100n, reason: 'owner_changed' }]);
  });
});

describe('an internal movement', () => {
  const gift = account('dep1', 0n, 100n);

  it('is every inflow of an attempt of Sluice', () => {
    const known = ours({ isAttempt: (signature) => signature === 'sig' });
    expect(inflowsOf({ accounts: [PAYER, gift] }, known)).toEqual([sol('dep1', 100n, 'internal')]);
  });

  it.each(['hot1', 'dep2'])('is the amount that %s signed away in the same asset', (wallet) => {
    const signer = account(wallet, 1_000n, 900n, { signer: true });
    const held = tokens(wallet, 'usd', 9n, 0n);
    const got = tokens('dep1', 'usd', 0n, 9n);
    expect(inflowsOf({ accounts: [PAYER, signer, gift], tokens: [held, got] })).toEqual([
      sol('dep1', 100n, 'internal'),
      usd('dep1', 9n, 'internal'),
    ]);
  });

  it('is not an inflow in another asset than the outflow of the signer', () => {
    const signer = account('hot1', 1_000n, 900n, { signer: true });
    const got = tokens('dep1', 'usd', 0n, 9n);
    expect(inflowsOf({ accounts: [PAYER, signer], tokens: [got] })).toEqual([usd('dep1', 9n)]);
  });

  it('is not an inflow for which a watched wallet only pays the fee', () => {
    const payer = account('hot1', 10_000n, 5_000n, { signer: true });
    const giver = account('stranger', 100n, 0n, { signer: true });
    expect(inflowsOf({ accounts: [payer, giver, gift] })).toEqual([sol('dep1', 100n)]);
    const generous = account('hot1', 10_000n, 4_999n, { signer: true });
    expect(inflowsOf({ accounts: [generous, giver, gift] })).toMatchObject([{ reason: 'internal' }]);
  });

  it('is not an outflow of a watched wallet that did not sign', () => {
    const robbed = account('dep2', 100n, 0n);
    expect(inflowsOf({ accounts: [PAYER, robbed, gift] })).toEqual([sol('dep1', 100n)]);
  });

  it('is the rent that a watched wallet recovers when it closes its token account', () => {
    const where = ata('dep1', 'wsol');
    const accounts = [
      PAYER,
      account('dep1', 0n, 2_039_285n, { signer: true }),
      account(where, 2_039_285n, 0n),
    ];
    expect(inflowsOf({ accounts, tokens: [tokens('dep1', 'wsol', 5n, null)] })).toEqual([
      sol('dep1', 2_039_285n, 'internal'),
    ]);
  });

  it('is a transfer between two token accounts of the signer', () => {
    const moved = [tokens('dep1', 'usd', 9n, 0n), tokens('dep1', 'usd', 0n, 9n, 'elsewhere')];
    const accounts = [PAYER, account('dep1', 0n, 0n, { signer: true })];
    expect(inflowsOf({ accounts, tokens: moved })).toEqual([usd('dep1', 9n, 'internal', 'elsewhere')]);
  });

  it('is a token account that the signer hands to another watched wallet', () => {
    const handed = {
      account: 'x',
      mint: 'usd',
      before: holding('dep2', 9n),
      after: holding('dep1', 9n),
    };
    const accounts = [PAYER, account('dep2', 0n, 0n, { signer: true })];
    expect(inflowsOf({ accounts, tokens: [handed] })).toMatchObject([{ reason: 'internal' }]);
  });
});

describe('a token account', () => {
  it.each([
    ['not the derived one', tokens('dep1', 'usd', 0n, 9n, 'auxiliary')],
    [
      'the one of another program than the mint has',
      tokens('dep1', 'usd', 0n, 9n, ata('dep1', 'usd', TOKEN_2022)),
    ],
    [
      'shown under another program than the mint has',
      { account: ata('dep1', 'usd'), mint: 'usd', before: null, after: holding('dep1', 9n, TOKEN_2022) },
    ],
  ])('is not credited when it is %s', (_name, change) => {
    expect(inflowsOf({ tokens: [change] })).toMatchObject([{ amount: 9n, reason: 'not_associated_account' }]);
  });

  it('is derived with the program of the asset when an early ledger omits the program', () => {
    const omitted = { ...tokens('dep1', 'usd', null, null), after: holding('dep1', 9n, null) };
    expect(inflowsOf({ tokens: [omitted] })).toEqual([usd('dep1', 9n)]);
    const unknown = { ...omitted, mint: 'fake' };
    expect(inflowsOf({ tokens: [unknown] })).toMatchObject([{ reason: 'unknown_mint' }]);
  });
});

describe('a mint that was closed and created again', () => {
  const remade = (decimals: number | null, program = TOKEN) => ({
    account: ata('dep1', 'usd', program),
    mint: 'usd',
    before: null,
    after: holding('dep1', 9n, program, decimals),
  });

  it.each([
    ['with other decimals', remade(9)],
    ['under another program', remade(6, TOKEN_2022)],
  ])('%s is not the listed mint, and its tokens are not credited', (_name, change) => {
    expect(inflowsOf({ tokens: [change] })).toMatchObject([{ amount: 9n, reason: 'asset_changed' }]);
    expect(inflowsOf({ tokens: [change] }, ours({ assets: [] }))).toMatchObject([{ reason: 'unknown_mint' }]);
  });

  it('is detected by what nodes return: omitted decimals are no difference', () => {
    expect(inflowsOf({ tokens: [remade(null)] })).toEqual([usd('dep1', 9n)]);
  });
});

// Each defect is removed in turn, and the next reason must follow.
it('the reason returned is the first in the order of precedence', () => {
  const reasons: (string | null)[] = [];
  const all = {
    hot: true,
    changed: true,
    elsewhere: true,
    unknown: true,
    remade: true,
    off: true,
    little: true,
  };
  const addReasons = (wrong: typeof all, attempt = false): void => {
    const wallet = wrong.hot ? 'hot1' : 'dep1';
    const change = {
      account: wrong.elsewhere ? 'elsewhere' : ata(wallet, 'usd'),
      mint: 'usd',
      before: holding(wrong.changed ? 'stranger' : wallet, 0n),
      after: holding(wallet, 9n),
    };
    const asset = terms('usd', {
      decimals: wrong.remade ? 9 : 6,
      depositsOn: !wrong.off,
      minimumDeposit: wrong.little ? 10n : 9n,
    });
    const known = ours({ assets: wrong.unknown ? [] : [asset], isAttempt: () => attempt });
    reasons.push(...inflowsOf({ tokens: [change] }, known).map(({ reason }) => reason));
  };
  addReasons(all, true);
  const wrong = { ...all };
  addReasons(wrong);
  for (const defect of ['hot', 'changed', 'elsewhere', 'unknown', 'remade', 'off', 'little'] as const) {
    wrong[defect] = false;
    addReasons(wrong);
  }
  expect(reasons).toEqual([
    'internal',
    'hot_wallet',
    'owner_changed',
    'not_associated_account',
    'unknown_mint',
    'asset_changed',
    'deposits_off',
    'below_minimum',
    null,
  ]);
});
