import { base58 } from '@scure/base';
import { ComputeBudgetProgram, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { messageHashOf } from '../../../src/solana/tx/message.ts';
import {
  COMPUTE_BUDGET_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../../src/solana/tx/programs.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { checkExact, LIGHTHOUSE_PROGRAM } from '../../../src/x402/rules/exact.ts';
import type { Limits, Terms } from '../../../src/x402/terms.ts';
import * as buyer from './buyer.ts';
import { memo, price, transferChecked, units, wireOf } from './buyer.ts';

const PREFIX = 'invalid_exact_svm_payload_';

function check(wire: Uint8Array, terms: Partial<Terms> = {}, limits: Partial<Limits> = {}) {
  const bounds = { ...buyer.BOUNDS, limits: { ...buyer.LIMITS, ...limits } };
  return checkExact(wire, { ...buyer.TERMS, ...terms }, bounds);
}

/** The reason for these instructions, without its prefix; the answer always names the payer. */
function reasonOf(
  instructions: readonly TransactionInstruction[],
  parts: buyer.WireParts = {},
  payer: string | null = buyer.BUYER,
): string {
  const refusal = buyer.refusal(check(wireOf({ instructions, ...parts })));
  expect(refusal.payer).toBe(payer);
  expect(refusal.reason).toContain(PREFIX);
  return refusal.reason.slice(PREFIX.length);
}

const lighthouse = (keys: readonly buyer.Key[] = []) =>
  buyer.instruction(LIGHTHOUSE_PROGRAM, keys, Uint8Array.of(1));
const withTransfer = (parts: buyer.TransferParts) => [units(), price(), transferChecked(parts), memo()];
const keysWith = (at: number, key: buyer.Key) =>
  buyer.CHECKED_KEYS.map((one, index) => (index === at ? key : one));

describe('a payment of scheme exact', () => {
  it('is read from the layout of the official client', () => {
    const wire = wireOf();
    const message = readSigned(wire)?.message ?? wire;
    expect(buyer.paid(check(wire))).toEqual({
      messageHash: messageHashOf(message),
      payer: buyer.BUYER,
      sourceAccount: buyer.SOURCE,
      feePayer: buyer.FEE_PAYER,
      signature: null,
      blockhash: buyer.BLOCKHASH,
      asset: buyer.MINT,
      amount: buyer.PRICE,
      destination: buyer.DESTINATION,
      computeUnitLimit: 20_000,
      computeUnitPriceMicroLamports: 1n,
      feeLamports: 10_001n,
    });
  });

  it('may be a legacy message, or one without a memo', () => {
    const wire = buyer.legacyWire([units(), price(), transferChecked()]);
    expect(buyer.paid(check(wire)).payer).toBe(buyer.BUYER);
  });

  it('may carry assertions of Lighthouse, up to seven instructions', () => {
    const instructions = [
      units(),
      price(),
      transferChecked(),
      memo(),
      lighthouse(),
      lighthouse(),
      lighthouse(),
    ];
    expect(check(wireOf({ instructions })).ok).toBe(true);
  });

  it('pays in the token of Token-2022 where the terms name it', () => {
    const tokenAccount = deriveAta(buyer.SELLER, buyer.MINT, TOKEN_2022_PROGRAM);
    const keys = keysWith(2, [tokenAccount, 'w']);
    const wire = wireOf({ instructions: withTransfer({ program: TOKEN_2022_PROGRAM, keys }) });
    const { destination } = buyer.paid(check(wire, { tokenProgram: TOKEN_2022_PROGRAM, tokenAccount }));
    expect(destination).toBe(tokenAccount);
  });

  it('has the same id after the fee payer has signed', () => {
    const wire = wireOf({ signers: [buyer.buyerKey, buyer.feePayerKeyName] });
    const [first = wire] = readSigned(wire)?.signatures ?? [];
    expect(buyer.paid(check(wire)).signature).toBe(base58.encode(first));
  });
});

describe('the rules about the fee payer refuse a payment', () => {
  it('whose terms name an unknown fee payer', () => {
    const checked = check(wireOf({ payer: buyer.STRANGER }), { feePayer: buyer.STRANGER });
    const reason = 'invalid_exact_svm_fee_payer_not_managed_by_facilitator';
    expect(buyer.refusal(checked)).toEqual({ reason, payer: buyer.BUYER });
  });

  it('whose transaction has another fee payer than the terms', () => {
    const reason = 'invalid_exact_svm_fee_payer_mismatch';
    expect(buyer.refusal(check(wireOf({ payer: buyer.RETIRED })))).toEqual({ reason, payer: buyer.BUYER });
  });

  it('unless its fee payer is a key of ours, current or retired', () => {
    expect(check(wireOf({ payer: buyer.RETIRED }), { feePayer: buyer.RETIRED }).ok).toBe(true);
  });

  it.each([
    ['of the memo', [units(), price(), transferChecked(), memo('', [[buyer.FEE_PAYER, 's']])]],
    ['of Lighthouse', [units(), price(), transferChecked(), lighthouse([[buyer.FEE_PAYER]])]],
    ['of the compute budget', [withAccount(units(), buyer.FEE_PAYER), price(), transferChecked()]],
    [
      'of Lighthouse, as another key of ours',
      [units(), price(), transferChecked(), lighthouse([[buyer.RETIRED]])],
    ],
  ])('with the fee payer as account %s', (_name, instructions) => {
    expect(reasonOf(instructions)).toBe('transaction_fee_payer_included_in_instruction_accounts');
  });

  it('with the fee payer as authority of the transfer', () => {
    const reason = reasonOf(
      withTransfer({ keys: keysWith(3, [buyer.FEE_PAYER, 's']) }),
      { signers: [] },
      buyer.FEE_PAYER,
    );
    expect(reason).toBe('transaction_fee_payer_transferring_funds');
  });

  it('with the fee payer, or another key of ours, as owner of the source', () => {
    for (const owner of [buyer.FEE_PAYER, buyer.RETIRED]) {
      const source = deriveAta(owner, buyer.MINT, TOKEN_PROGRAM);
      const reason = reasonOf(withTransfer({ keys: keysWith(0, [source, 'w']) }));
      expect(reason).toBe('transaction_fee_payer_transferring_funds');
    }
  });

  it('with the fee payer, or another key of ours, as owner of the destination', () => {
    for (const payTo of [buyer.FEE_PAYER, buyer.RETIRED]) {
      const keys = keysWith(2, [deriveAta(payTo, buyer.MINT, TOKEN_PROGRAM), 'w']);
      const checked = check(wireOf({ instructions: withTransfer({ keys }) }), { payTo });
      expect(buyer.refusal(checked).reason).toBe(`${PREFIX}transaction_fee_payer_transferring_funds`);
    }
  });
});

describe('the rules about signatures refuse a payment', () => {
  const invalid = { reason: `${PREFIX}signature_invalid`, payer: buyer.BUYER };

  it('without the signature of the buyer', () => {
    expect(buyer.refusal(check(wireOf({ signers: [] })))).toEqual(invalid);
  });

  it('with a signature of the buyer over another message', () => {
    const wire = wireOf();
    const other = wireOf({ instructions: [units(), price(), transferChecked(), memo('another')] });
    wire.set(other.subarray(65, 129), 65);
    expect(buyer.refusal(check(wire))).toEqual(invalid);
  });

  it('with other bytes in place of the signature of the fee payer', () => {
    const wire = wireOf();
    wire.fill(7, 1, 65);
    expect(buyer.refusal(check(wire))).toEqual(invalid);
  });

  it('with too many signatures', () => {
    const instructions = [units(), price(), transferChecked(), lighthouse([[buyer.STRANGER, 's']])];
    const parts = { signers: [buyer.buyerKey, buyer.strangerKey] };
    expect(reasonOf(instructions, parts)).toBe('excessive_signers');
    const wire = wireOf({ instructions, ...parts });
    expect(buyer.paid(check(wire, {}, { maxSigners: 3, maxFeeLamports: 20_000n })).feeLamports).toBe(15_001n);
  });
});

describe('the rules about instructions refuse a payment', () => {
  it('with fewer than three or more than seven instructions', () => {
    const length = 'transaction_instructions_length';
    const seven = [units(), price(), transferChecked(), memo(), lighthouse(), lighthouse(), lighthouse()];
    expect(reasonOf([...seven, lighthouse()])).toBe(length);
    expect(reasonOf([units(), transferChecked()])).toBe(length);
  });

  it.each([
    ['another program', buyer.instruction(buyer.OTHER_PROGRAM, [], units().data)],
    ['another discriminator', price()],
    ['a heap size', ComputeBudgetProgram.requestHeapFrame({ bytes: 32_768 })],
    ['trailing data', buyer.instruction(COMPUTE_BUDGET_PROGRAM, [], Buffer.from([...units().data, 0]))],
    ['short data', buyer.instruction(COMPUTE_BUDGET_PROGRAM, [], Uint8Array.of(2, 1, 0, 0))],
    ['no data', buyer.instruction(COMPUTE_BUDGET_PROGRAM, [], new Uint8Array())],
    ['a durable nonce', nonceAdvance()],
    ['a durable nonce with trailing data', nonceAdvance(9)],
  ])('that begins with %s instead of a compute unit limit', (_name, first) => {
    const reason = reasonOf([first, price(), transferChecked()]);
    expect(reason).toBe('transaction_instructions_compute_limit_instruction');
  });

  it.each([
    ['another program', buyer.instruction(buyer.OTHER_PROGRAM, [], price().data)],
    ['another discriminator', units()],
    ['units of the old instruction', ComputeBudgetProgram.requestUnits({ units: 1, additionalFee: 0 })],
    ['trailing data', buyer.instruction(COMPUTE_BUDGET_PROGRAM, [], Buffer.from([...price().data, 0]))],
    ['short data', buyer.instruction(COMPUTE_BUDGET_PROGRAM, [], Uint8Array.of(3, 1, 0, 0, 0))],
  ])('that has %s instead of a compute unit price', (_name, second) => {
    const reason = reasonOf([units(), second, transferChecked()]);
    expect(reason).toBe('transaction_instructions_compute_price_instruction');
  });

  it('with a compute unit limit above the maximum', () => {
    const tooHigh = 'transaction_instructions_compute_limit_instruction_too_high';
    expect(reasonOf([units(60_001), price(), transferChecked()])).toBe(tooHigh);
    expect(check(wireOf({ instructions: [units(60_000), price(), transferChecked()] })).ok).toBe(true);
  });

  it('with a compute unit price above the maximum of the specification', () => {
    const tooHigh = 'transaction_instructions_compute_price_instruction_too_high';
    expect(reasonOf([units(100), price(5_000_001n), transferChecked()])).toBe(tooHigh);
    expect(reasonOf([units(60_000), price(2n ** 64n - 1n), transferChecked()])).toBe(tooHigh);
    expect(check(wireOf({ instructions: [units(1_000), price(5_000_000n), transferChecked()] })).ok).toBe(
      true,
    );
  });

  it('whose fee exceeds the maximum by a part of a lamport', () => {
    const tooHigh = 'transaction_instructions_compute_price_instruction_too_high';
    expect(reasonOf([units(50_000), price(100_001n), transferChecked()])).toBe(tooHigh);
    const wire = wireOf({ instructions: [units(50_000), price(100_000n), transferChecked()] });
    expect(buyer.paid(check(wire)).feeLamports).toBe(15_000n);
  });

  it('with other programs than memo and Lighthouse, with one code for each position', () => {
    const good = [units(), price(), transferChecked()];
    const other = SystemProgram.transfer({
      fromPubkey: buyer.buyerKey.publicKey,
      toPubkey: buyer.strangerKey.publicKey,
      lamports: 1,
    });
    const places = ['fourth', 'fifth', 'sixth', 'seventh'];
    places.forEach((place, index) => {
      const before = Array.from({ length: index }, () => lighthouse());
      expect(reasonOf([...good, ...before, other])).toBe(`unknown_${place}_instruction`);
    });
  });

  it('with a signer of the memo', () => {
    const reason = reasonOf([units(), price(), transferChecked(), memo('', [[buyer.BUYER, 's']])]);
    expect(reason).toBe('unknown_fourth_instruction');
  });

  it('with two memos', () => {
    expect(reasonOf([units(), price(), transferChecked(), memo(), memo('b')])).toBe('memo_count');
  });

  it('without the memo of the terms, or with another memo', () => {
    const none = wireOf({ instructions: [units(), price(), transferChecked()] });
    expect(buyer.refusal(check(none, { memo: 'order 7' })).reason).toBe(`${PREFIX}memo_count`);
    const other = wireOf({ instructions: [units(), price(), transferChecked(), memo('order 70')] });
    expect(buyer.refusal(check(other, { memo: 'order 7' })).reason).toBe(`${PREFIX}memo_mismatch`);
    const same = wireOf({ instructions: [units(), price(), transferChecked(), memo('order 7')] });
    expect(check(same, { memo: 'order 7' }).ok).toBe(true);
  });
});

describe('the rules about the transfer refuse', () => {
  it.each([
    ['of a look-alike program', { program: buyer.OTHER_PROGRAM }, null],
    ['of the other token program', { program: TOKEN_2022_PROGRAM }, buyer.BUYER],
    ['with trailing data', { trailing: [0] }, buyer.BUYER],
    [
      'with an extra account',
      { keys: [...buyer.CHECKED_KEYS, [buyer.STRANGER]] as buyer.Key[] },
      buyer.BUYER,
    ],
    [
      'with a co-signer',
      { keys: [...buyer.CHECKED_KEYS, [buyer.FEE_PAYER, 's']] as buyer.Key[] },
      buyer.BUYER,
    ],
  ])('a transfer %s', (_name, parts, payer) => {
    expect(reasonOf(withTransfer(parts), {}, payer)).toBe('no_transfer_instruction');
  });

  it('a payment with a plain Transfer, with three accounts, or without a transfer', () => {
    const three = transferChecked({ keys: buyer.CHECKED_KEYS.slice(0, 3) });
    expect(reasonOf([units(), price(), three], { signers: [] }, null)).toBe('no_transfer_instruction');
    expect(reasonOf([units(), price(), buyer.plainTransfer()])).toBe('no_transfer_instruction');
    expect(reasonOf([units(), price(), memo()], { signers: [] }, null)).toBe('no_transfer_instruction');
  });

  it('a transfer without the signature of its authority', () => {
    const reason = reasonOf(withTransfer({ keys: keysWith(3, [buyer.BUYER]) }), { signers: [] });
    expect(reason).toBe('no_transfer_instruction');
  });

  it('a transfer of another mint, or with other decimals', () => {
    expect(reasonOf(withTransfer({ keys: keysWith(1, [buyer.OTHER_PROGRAM]) }))).toBe('mint_mismatch');
    expect(reasonOf(withTransfer({ decimals: 9 }))).toBe('mint_mismatch');
  });

  it('a transfer to another account', () => {
    expect(reasonOf(withTransfer({ keys: keysWith(2, [buyer.STRANGER, 'w']) }))).toBe('recipient_mismatch');
    const underOther = deriveAta(buyer.SELLER, buyer.MINT, TOKEN_2022_PROGRAM);
    expect(reasonOf(withTransfer({ keys: keysWith(2, [underOther, 'w']) }))).toBe('recipient_mismatch');
  });

  it('a transfer from an account to itself', () => {
    const keys = keysWith(0, [buyer.DESTINATION, 'w']);
    expect(reasonOf(withTransfer({ keys }))).toBe('recipient_mismatch');
  });

  it('a transfer of a smaller or a larger amount', () => {
    expect(reasonOf(withTransfer({ amount: buyer.PRICE - 1n }))).toBe('amount_mismatch');
    expect(reasonOf(withTransfer({ amount: buyer.PRICE + 1n }))).toBe('amount_mismatch');
  });

  it('a transfer to a wallet that is off the curve', () => {
    const checked = check(wireOf(), { payTo: buyer.DESTINATION });
    expect(buyer.refusal(checked).reason).toBe(`${PREFIX}recipient_mismatch`);
  });
});

function withAccount(of: TransactionInstruction, at: string): TransactionInstruction {
  return buyer.instruction(of.programId.toBase58(), [[at]], of.data);
}

function nonceAdvance(...trailing: readonly number[]): TransactionInstruction {
  const advance = SystemProgram.nonceAdvance({
    noncePubkey: buyer.strangerKey.publicKey,
    authorizedPubkey: buyer.buyerKey.publicKey,
  });
  advance.data = Buffer.from([...advance.data, ...trailing]);
  return advance;
}
