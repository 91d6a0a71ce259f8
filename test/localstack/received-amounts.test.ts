import { describe, expect, it } from 'vitest';
import { type FinalizedBlock, incomingTransfersIn } from '../../devkit/localstack/chain-truth.ts';

const token = (accountIndex: number, owner: string, amount: string, mint = 'M') => ({
  accountIndex,
  mint,
  owner,
  uiTokenAmount: { amount },
});

const MADE = { preTokenBalances: [token(2, 'P', '50')] };

/** P pays 7 lamports and 30 tokens to U. The token account of U is created here, or had another owner or mint before. */
function block(err: unknown, { preTokenBalances } = MADE): FinalizedBlock {
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
          preTokenBalances,
          postTokenBalances: [token(2, 'P', '20'), token(3, 'U', '30')],
        },
      },
    ],
  };
}

describe('the received amounts of a block', () => {
  it('are the increases of each account of a wallet', () => {
    const where = { signature: 's', slot: 9, blockhash: 'h9', wallet: 'U' };
    expect(incomingTransfersIn(block(null), new Set(['U']))).toEqual([
      { ...where, account: 'U', asset: 'SOL', amount: 7n },
      { ...where, account: 'UA', asset: 'M', amount: 30n },
    ]);
    expect(incomingTransfersIn(block(null), new Set(['P']))).toEqual([]);
  });

  it.each([
    ['had another owner', token(3, 'P', '10')],
    ['had another mint', token(3, 'U', '10', 'N')],
  ])('are the whole balance of a token account that %s', (_how, before) => {
    const taken = block(null, { preTokenBalances: [token(2, 'P', '40'), before] });
    expect(incomingTransfersIn(taken, new Set(['U']))).toMatchObject([
      { account: 'U', asset: 'SOL', amount: 7n },
      { account: 'UA', asset: 'M', amount: 30n },
    ]);
  });

  it('are empty where the transaction failed', () => {
    expect(incomingTransfersIn(block({ InstructionError: [0, 'Custom'] }), new Set(['U']))).toEqual([]);
  });
});
