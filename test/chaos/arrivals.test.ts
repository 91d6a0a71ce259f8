import { describe, expect, it } from 'vitest';
import { arrivalsIn } from '../../chaos/deposits/arrivals.ts';
import type { Block } from '../../src/localstack/chain-truth.ts';

const token = (accountIndex: number, owner: string, amount: string) => ({
  accountIndex,
  mint: 'M',
  owner,
  uiTokenAmount: { amount },
});

/** P pays 7 lamports and 30 tokens to U, whose token account is made on the way. */
function block(err: unknown): Block {
  return {
    slot: 9,
    blockhash: 'h9',
    previousBlockhash: 'h8',
    transactions: [
      {
        transaction: {
          signatures: ['s'],
          accountKeys: ['P', 'U', 'PA', 'UA'].map((pubkey) => ({ pubkey, signer: pubkey === 'P' })),
        },
        meta: {
          err,
          fee: 5,
          preBalances: [100, 1, 2, 0],
          postBalances: [88, 8, 2, 2],
          preTokenBalances: [token(2, 'P', '50')],
          postTokenBalances: [token(2, 'P', '20'), token(3, 'U', '30')],
        },
      },
    ],
  };
}

describe('what a block brought', () => {
  it('is what each account of a wallet holds more than before', () => {
    const where = { signature: 's', slot: 9, blockhash: 'h9', wallet: 'U' };
    expect(arrivalsIn(block(null), new Set(['U']))).toEqual([
      { ...where, account: 'U', asset: 'SOL', amount: 7n },
      { ...where, account: 'UA', asset: 'M', amount: 30n },
    ]);
    expect(arrivalsIn(block(null), new Set(['P']))).toEqual([]);
  });

  it('is nothing where the transaction failed', () => {
    expect(arrivalsIn(block({ InstructionError: [0, 'Custom'] }), new Set(['U']))).toEqual([]);
  });
});
