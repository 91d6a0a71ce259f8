import { Keypair } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { describeFailure, failureKind } from '../../src/solana/failure-causes.ts';
import { ATA_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/programs.ts';
import { readTransactionError, recordedError } from '../../src/solana/transaction-error.ts';
import { composeTransfer } from '../../src/solana/transactions.ts';

describe('a failed simulation', () => {
  const HOOK = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
  const customFault = (code: number): string => `{"InstructionError":[2,{"Custom":${code}}]}`;
  const failed = (...programs: string[]): string[] =>
    programs.map((program) => `Program ${program} failed: custom program error: 0x1`);

  it.each([
    ['short', 'AccountNotFound', []],
    ['short', 'InsufficientFundsForFee', []],
    ['short', '{"InsufficientFundsForRent":{"account_index":0}}', []],
    ['refused', '{"InsufficientFundsForRent":{"account_index":1}}', []],
    ['short', customFault(1), failed(SYSTEM_PROGRAM)],
    ['short', customFault(1), failed(TOKEN_PROGRAM)],
    ['short', customFault(1), failed(SYSTEM_PROGRAM, ATA_PROGRAM)],
    ['short', customFault(1), []],
    ['refused', customFault(1), failed(HOOK, TOKEN_2022_PROGRAM)],
    ['refused', customFault(9), failed(TOKEN_PROGRAM)],
    ['passing', customFault(17), failed(TOKEN_PROGRAM)],
    ['passing', customFault(67), failed(TOKEN_2022_PROGRAM)],
    ['refused', '{"InstructionError":[2,"InvalidAccountData"]}', failed(TOKEN_PROGRAM)],
    ['passing', customFault(32), failed(TOKEN_2022_PROGRAM)],
    ['refused', customFault(32), failed(HOOK, TOKEN_2022_PROGRAM)],
    ['refused', customFault(1), failed(ATA_PROGRAM)],
    ['passing', customFault(32), []],
    ['passing', 'AccountInUse', []],
  ] as const)('is %s for %s', (kind, error, logs) => {
    expect(failureKind(recordedError(error), logs)).toBe(kind);
  });
});

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
])('%s is the same error when it is read back from the record', (text, err) => {
  const error = readTransactionError(err);
  expect(error?.text).toBe(text);
  expect(recordedError(text)).toEqual(error);
});

it('no error is none', () => {
  expect([readTransactionError(null), readTransactionError(undefined)]).toEqual([null, null]);
});

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
  expect(describeFailure(recordedError(error), message)).toContain(sentence);
});
