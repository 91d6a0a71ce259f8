import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failureKind } from '../../src/solana/compute-limit.ts';
import { attemptPrice, percentileOf, priorityLamports } from '../../src/solana/priority-fee.ts';
import { ATA_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/programs.ts';

const micro = fc.bigInt({ min: 0n, max: 10n ** 9n });

describe('the price of a compute unit', () => {
  it('stays within floor and cap whatever blocks paid, and does not fall with the attempt', () => {
    fc.assert(
      fc.property(
        micro,
        micro,
        micro,
        fc.integer({ min: 1, max: 40 }),
        fc.nat(65_535),
        (a, b, recent, n, salt) => {
          const bounds = { floorMicroLamports: a < b ? a : b, capMicroLamports: a < b ? b : a };
          const price = attemptPrice(recent, n, BigInt(salt), bounds);
          expect(price).toBeGreaterThanOrEqual(bounds.floorMicroLamports);
          expect(price).toBeLessThanOrEqual(bounds.capMicroLamports);
          const free = { floorMicroLamports: 1_000n, capMicroLamports: 10n ** 30n };
          expect(attemptPrice(recent, n + 1, 0n, free)).toBeGreaterThanOrEqual(
            attemptPrice(recent, n, 0n, free),
          );
        },
      ),
    );
  });

  it('differs for different salts below the cap', () => {
    const bounds = { floorMicroLamports: 0n, capMicroLamports: 1_000_000n };
    const prices = Array.from({ length: 1_000 }, (_, salt) => attemptPrice(5n, 1, BigInt(salt), bounds));
    expect(new Set(prices).size).toBe(1_000);
  });

  it('follows the chosen percentile of what was really paid', () => {
    expect(percentileOf([], 0.75)).toBe(0n);
    expect(percentileOf([0n, 0n], 0.75)).toBe(0n);
    expect(percentileOf([0n, 4n, 1n, 3n, 2n], 0.75)).toBe(4n);
    expect(percentileOf([0n, 4n, 1n, 3n, 2n], 0)).toBe(1n);
    expect(percentileOf([7n], 1)).toBe(7n);
  });

  it('rounds the fee up to whole lamports', () => {
    expect(priorityLamports(450, 1_000n)).toBe(1n);
    expect(priorityLamports(1_000_000, 1n)).toBe(1n);
    expect(priorityLamports(1_000_001, 1n)).toBe(2n);
    expect(priorityLamports(450, 0n)).toBe(0n);
  });
});

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
    ['refused', customFault(17), failed(TOKEN_PROGRAM)],
    ['refused', '{"InstructionError":[2,"InvalidAccountData"]}', failed(TOKEN_PROGRAM)],
    ['passing', customFault(32), failed(TOKEN_2022_PROGRAM)],
    ['refused', customFault(32), failed(HOOK, TOKEN_2022_PROGRAM)],
    ['passing', 'AccountInUse', []],
  ] as const)('is %s for %s', (kind, error, logs) => {
    expect(failureKind(error, { logs })).toBe(kind);
  });
});
