import { Keypair } from '@solana/web3.js';
import { expect, it } from 'vitest';
import { describeFailure } from '../../src/activities/program-errors.ts';
import { composeTransfer } from '../../src/solana/transactions.ts';

const wallet = (): string => Keypair.generate().publicKey.toBase58();

const { message } = composeTransfer({
  asset: 'SOL',
  amount: 1n,
  source: wallet(),
  destination: wallet(),
  memo: null,
  token: null,
  computeUnitLimit: 1,
  computeUnitPriceMicroLamports: 1n,
  blockhash: wallet(),
});

it.each([
  ['{"InstructionError":[2,{"Custom":1}]}', 'instruction 3 (System program) failed: insufficient funds'],
  ['{"InstructionError":[2,{"Custom":77}]}', 'its error 77'],
  ['{"InstructionError":[0,"InvalidAccountData"]}', 'instruction 1 (compute budget program) failed'],
  ['AccountNotFound', 'the transaction failed: AccountNotFound'],
])('the error %s of the chain is told in words', (error, sentence) => {
  expect(describeFailure(error, message)).toContain(sentence);
});
