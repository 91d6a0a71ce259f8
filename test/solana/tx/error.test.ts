import { expect, it } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { readTransactionError, recordedError } from '../../../src/solana/tx/error.ts';
import { describeFailure } from '../../../src/solana/tx/failure-causes.ts';
import { composeTransfer } from '../../../src/solana/tx/transfer.ts';

it.each([
  ['BlockhashNotFound', 'BlockhashNotFound'],
  ['{"InstructionError":[2,{"Custom":1}]}', { InstructionError: [2, { Custom: 1 }] }],
  ['{"InstructionError":[0,"InvalidAccountData"]}', { InstructionError: [0, 'InvalidAccountData'] }],
  [
    '{"InstructionError":[0,{"BorshIoError":"Unknown"}]}',
    { InstructionError: [0, { BorshIoError: 'Unknown' }] },
  ],
  ['{"InsufficientFundsForRent":{"account_index":3}}', { InsufficientFundsForRent: { account_index: 3 } }],
  ['{"Beyond":"9007199254740993"}', { Beyond: 9_007_199_254_740_993n }],
  ['{"InstructionError":"of another shape"}', { InstructionError: 'of another shape' }],
])('%s is the same error after it is stored and read back', (text, err) => {
  const error = readTransactionError(err);
  expect(error?.text).toBe(text);
  expect(recordedError(text)).toEqual(error);
});

it('a missing error stays missing', () => {
  expect([readTransactionError(null), readTransactionError(undefined)]).toEqual([null, null]);
});

const message = composeTransfer({
  asset: 'SOL',
  amount: 1n,
  source: newAddress(),
  destination: newAddress(),
  memo: null,
  token: null,
  computeUnitLimit: 1,
  computeUnitPriceMicroLamports: 1n,
  blockhash: newAddress(),
});

it.each([
  ['{"InstructionError":[2,{"Custom":1}]}', 'instruction 3 (System program) failed: insufficient funds'],
  ['{"InstructionError":[2,{"Custom":77}]}', 'its custom error 77'],
  ['{"InstructionError":[0,"InvalidAccountData"]}', 'instruction 1 (compute budget program) failed'],
  ['AccountNotFound', 'the transaction failed: AccountNotFound'],
])('the chain error %s is described in plain text', (error, sentence) => {
  expect(describeFailure(recordedError(error), message)).toContain(sentence);
});
