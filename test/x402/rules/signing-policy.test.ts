import { SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { isDomainError } from '../../../src/domain/errors.ts';
import { maySign, type SigningBounds } from '../../../src/signing/checks.ts';
import { FeeSpend } from '../../../src/signing/fee-spend.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { paymentPolicy, paymentRule } from '../../../src/x402/rules/signing-policy.ts';
import * as buyer from './buyer.ts';
import { memo, price, transferChecked, units } from './buyer.ts';

const TERMS = {
  asset: buyer.MINT,
  tokenProgram: buyer.TERMS.tokenProgram,
  decimals: '6',
  amount: String(buyer.PRICE),
  payTo: buyer.SELLER,
  memo: null,
  maxFeeLamports: '15000',
  maxComputeUnits: '60000',
};
const PAYMENTS = {
  maxFeeLamports: 20_000n,
  maxComputeUnits: 70_000,
  spend: { add: () => undefined, discard: () => undefined },
};
const BOUNDS = {
  priceCapMicroLamports: 1_000_000n,
  maxFeeLamports: 500_000n,
  allowHookAccounts: false,
  payments: PAYMENTS,
};

function sign(parts: buyer.WireParts = {}, terms: Readonly<Record<string, string | null>> = TERMS): void {
  const message = readSigned(buyer.wireOf(parts))?.message ?? new Uint8Array();
  paymentPolicy(message, terms, buyer.FEE_PAYER, BOUNDS);
}

const refused = (reason: string) =>
  expect.objectContaining({ code: 'SigningRefused', message: expect.stringContaining(reason) });

describe('the signer of a fee payer', () => {
  it('signs a payment that keeps the rules, with or without the other signatures', () => {
    sign();
    sign({ signers: [] });
    sign({ instructions: [units(), price(), transferChecked(), memo('m')] }, { ...TERMS, memo: 'm' });
  });

  it('signs no fee above its own limit, whatever the terms allow', () => {
    const message = readSigned(buyer.wireOf({}))?.message ?? new Uint8Array();
    const bounded = { ...BOUNDS, maxFeeLamports: 5_000n };
    const signBounded = () => paymentPolicy(message, TERMS, buyer.FEE_PAYER, bounded);
    expect(signBounded).toThrow(refused('price_instruction_too_high'));
  });

  it('signs no payment above the fee and the compute units in its own settings, and none without these settings', () => {
    const wide = { ...TERMS, maxFeeLamports: '7000000', maxComputeUnits: '1400000' };
    const policy = (instructions: buyer.WireParts['instructions'], bounds: SigningBounds = BOUNDS) => {
      const message = readSigned(buyer.wireOf(instructions === undefined ? {} : { instructions }))?.message;
      return () => paymentPolicy(message ?? new Uint8Array(), wide, buyer.FEE_PAYER, bounds);
    };
    policy([units(70_000), price(1_000), transferChecked()])();
    expect(policy([units(70_001), price(1_000), transferChecked()])).toThrow(refused('compute_limit_'));
    expect(policy([units(70_000), price(200_000), transferChecked()])).toThrow(refused('at most 20000'));
    const { payments: _payments, ...others } = BOUNDS;
    expect(policy(undefined, others)).toThrow(refused('no limits for x402 payments'));
  });

  it('signs no more fees within an hour than its own settings allow, and a message again at no cost', () => {
    const spend = new FeeSpend({ lamportsPerHour: 20_000n, onLimit: () => undefined, now: () => 0 });
    const signMemo = (text: string) => () => {
      const message = readSigned(
        buyer.wireOf({ instructions: [units(1_000), price(0), transferChecked(), memo(text)] }),
      )?.message;
      paymentPolicy(message ?? new Uint8Array(), TERMS, buyer.FEE_PAYER, {
        ...BOUNDS,
        payments: { ...PAYMENTS, spend },
      });
    };
    for (const text of ['one', 'two', 'one', 'two']) signMemo(text)();
    expect(signMemo('three')).toThrow(refused('within one hour; at most 20000 are allowed'));
    signMemo('one')();
  });

  it.each([
    ['another fee payer', { payer: buyer.RETIRED }, 'fee_payer_mismatch'],
    [
      'another amount',
      { instructions: [units(), price(), transferChecked({ amount: 1n })] },
      'amount_mismatch',
    ],
    [
      'more units',
      { instructions: [units(60_001), price(), transferChecked()] },
      'compute_limit_instruction_too_high',
    ],
    [
      'a higher fee',
      { instructions: [units(60_000), price(900_000), transferChecked()] },
      'price_instruction_too_high',
    ],
    [
      'a price above its own limit',
      { instructions: [units(1), price(1_000_001), transferChecked()] },
      'compute unit price',
    ],
    [
      'a memo with its own key',
      { instructions: [units(), price(), transferChecked(), memo('', [[buyer.FEE_PAYER, 's']])] },
      'fee_payer_included',
    ],
    [
      'a transfer of its own SOL',
      {
        signers: [],
        instructions: [
          units(),
          price(),
          SystemProgram.transfer({
            fromPubkey: buyer.feePayerKeyName.publicKey,
            toPubkey: buyer.strangerKey.publicKey,
            lamports: 1,
          }),
        ],
      },
      'no_transfer_instruction',
    ],
  ])('refuses %s', (_name, parts, reason) => {
    expect(() => sign(parts)).toThrow(refused(reason));
  });

  it('refuses another memo than that of the task', () => {
    expect(() => sign({}, { ...TERMS, memo: 'another' })).toThrow(refused('memo_mismatch'));
  });

  it.each([
    ['no amount', { asset: buyer.MINT }],
    ['an invalid number', { ...TERMS, amount: '1e3' }],
  ])('refuses terms with %s', (_name, terms) => {
    expect(() => sign({}, terms)).toThrow(refused('terms'));
  });

  it('refuses bytes that are not a message', () => {
    const read = () => paymentPolicy(Uint8Array.of(1, 2, 3), TERMS, buyer.FEE_PAYER, BOUNDS);
    expect(read).toThrow(refused('could_not_be_decoded'));
    expect(read).toThrow(expect.toSatisfy(isDomainError));
  });

  it('is the only key that may sign payments', () => {
    const rule = paymentRule;
    expect(rule !== undefined && maySign(rule, 'fee-payer/0')).toBe(true);
    expect(rule !== undefined && maySign(rule, 'hot')).toBe(false);
  });
});
