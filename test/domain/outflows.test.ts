import { describe, expect, it } from 'vitest';
import { findingOf, findingOfTransaction } from '../../src/domain/credits.ts';
import { account, ours, PAYER, tokens, transaction } from './credits-support.ts';

describe('the outflow of a transaction', () => {
  it('is the lamports and tokens of watched wallets, for every signer, and all of a closed token account', () => {
    const { outflows } = findingOfTransaction(
      transaction({
        accounts: [PAYER, account('dep1', 9n, 2n), account('other', 9n, 2n)],
        tokens: [tokens('dep1', 'usd', 9n, 4n), tokens('dep2', 'usd', 6n, null)],
      }),
      ours(),
    );
    expect(outflows.map(({ wallet, asset, amount }) => [wallet, asset, amount])).toEqual([
      ['dep1', 'SOL', 7n],
      ['dep1', 'usd', 5n],
      ['dep2', 'usd', 6n],
    ]);
  });

  it('is only the fee, and no tokens, when the transaction failed', () => {
    const accounts = [account('hot1', 9_000n, 4_000n, { signer: true })];
    const failed = { error: '{"InstructionError":[0,"Custom"]}', accounts };
    expect(
      findingOfTransaction(transaction({ ...failed, tokens: [tokens('hot1', 'usd', 9n, 0n)] }), ours()),
    ).toEqual({
      inflows: [],
      outflows: [
        {
          signature: 'sig',
          account: 'hot1',
          wallet: 'hot1',
          asset: 'SOL',
          amount: 5_000n,
          ownerSigned: true,
        },
      ],
      spends: [{ signature: 'sig', wallet: 'hot1', error: failed.error }],
    });
  });
});

it('spends are what each hot wallet signed, without deposit wallets and mere mentions', () => {
  const accounts = [
    account('hot1', 1n, 1n, { signer: true }),
    account('dep1', 1n, 1n, { signer: true }),
    account('hot2', 1n, 1n),
  ];
  const other = [account('hot1', 1n, 1n), account('hot2', 1n, 1n, { signer: true })];
  const block = {
    transactions: [
      transaction({ signature: 'a', accounts }),
      transaction({ signature: 'b', accounts: other }),
    ],
  };
  expect(findingOf(block, ours())).toEqual({
    inflows: [],
    outflows: [],
    spends: [
      { signature: 'a', wallet: 'hot1', error: null },
      { signature: 'b', wallet: 'hot2', error: null },
    ],
  });
});
