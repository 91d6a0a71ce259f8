import { describe, expect, it } from 'vitest';
import { checkExact } from '../../../src/x402/rules/exact.ts';
import { maxPrice } from '../../../src/x402/rules/exact-fees.ts';
import * as buyer from './buyer.ts';
import { memo, price, transferChecked, units, wireOf } from './buyer.ts';

/** A payment of 2,500 base units of a token with 6 decimals, with a priority fee of so many lamports. */
function check(priorityLamports: bigint, worth: readonly [string, bigint], maxFeePercent = 100n) {
  const instructions = [units(1_000), price(priorityLamports * 1_000n), transferChecked(), memo()];
  const limits = { ...buyer.LIMITS, assetLamports: new Map([worth]), maxFeePercent };
  return checkExact(wireOf({ instructions }), buyer.TERMS, { ...buyer.BOUNDS, limits });
}

describe('the priority fee of a payment', () => {
  it('has the price limit of the signer already at admission, if that is the lower one', () => {
    const priced = (microLamports: number) => {
      const instructions = [units(1), price(microLamports), transferChecked(), memo()];
      const limits = { ...buyer.LIMITS, maxPriceMicroLamports: maxPrice(1_000n) };
      return checkExact(wireOf({ instructions }), buyer.TERMS, { ...buyer.BOUNDS, limits });
    };
    expect(priced(1_000).ok).toBe(true);
    expect(priced(1_001)).toMatchObject({
      message: 'the compute unit price is 1001 micro-lamports; at most 1000 is allowed',
    });
    expect(maxPrice(9_000_000n)).toBe(5_000_000n);
  });

  it.each([
    ['7,000 lamports a token', 7_000n, 100n, 17n],
    ['7,000 lamports a token, 20 percent', 7_000n, 20n, 3n],
    ['7,000 lamports a token, 250 percent', 7_000n, 250n, 43n],
    ['7,000 lamports a token, no percent', 7_000n, 0n, 0n],
    ['less than a lamport for the payment', 1n, 100n, 0n],
  ])('is limited by its share of the value: %s', (_what, lamports, percent, allowed) => {
    expect(buyer.paid(check(allowed, [buyer.MINT, lamports], percent)).feeLamports).toBe(10_000n + allowed);
    const tooHigh = check(allowed + 1n, [buyer.MINT, lamports], percent);
    expect(tooHigh).toMatchObject({
      reason: 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high',
      message: `the priority fee is ${allowed + 1n} lamports; at most ${allowed} are allowed, which is ${percent} percent of the payment's value`,
      payer: buyer.BUYER,
    });
  });

  it('has only the absolute limit where the asset has no configured worth, and otherwise both limits', () => {
    expect(check(5_000n, [buyer.OTHER_PROGRAM, 1n]).ok).toBe(true);
    expect(check(5_001n, [buyer.MINT, 10n ** 18n]).ok).toBe(false);
  });
});
