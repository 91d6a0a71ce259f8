import { base58 } from '@scure/base';
import {
  AddressLookupTableAccount,
  MessageV0,
  PublicKey,
  SystemProgram,
  VersionedTransaction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import {
  ATA_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../../src/solana/tx/programs.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { checkExample, checkSubmitted, exampleError, readBroken } from '../../../src/x402/rules/example.ts';
import * as buyer from './buyer.ts';
import { memo, plainTransfer, transferChecked } from './buyer.ts';

const WRONG = 'No valid transfer to the recipient with the correct amount';
const FAILED = 'Payment verification failed';

/** Signed by the buyer, who also pays the fee. */
const wireOf = (instructions: buyer.WireParts['instructions'], signers = [buyer.buyerKey]) =>
  buyer.wireOf({ payer: buyer.BUYER, signers, ...(instructions && { instructions }) });
const check = (wire: Uint8Array, terms = buyer.TERMS) => checkExample(wire, terms, buyer.BOUNDS);

function errorOf(wire: Uint8Array) {
  const checked = check(wire);
  if (checked.ok) expect.fail('the rules accept it');
  return exampleError(checked);
}

const createRecipient = (data: Uint8Array) =>
  buyer.instruction(
    ATA_PROGRAM,
    [
      [buyer.BUYER, 'sw'],
      [buyer.DESTINATION, 'w'],
      [buyer.SELLER],
      [buyer.MINT],
      [SYSTEM_PROGRAM],
      [TOKEN_PROGRAM],
    ],
    data,
  );

describe('a payment of the example', () => {
  it('is a plain transfer with all signatures', () => {
    const wire = wireOf([plainTransfer()]);
    const payment = buyer.paid(check(wire));
    const [signature = wire] = readSigned(wire)?.signatures ?? [];
    expect(payment).toMatchObject({
      payer: buyer.BUYER,
      feePayer: buyer.BUYER,
      signature: base58.encode(signature),
      asset: buyer.MINT,
      amount: buyer.PRICE,
      destination: buyer.DESTINATION,
      computeUnitLimit: 200_000,
      computeUnitPriceMicroLamports: 0n,
      feeLamports: 5_000n,
    });
  });

  it.each([
    ['a checked transfer', [transferChecked()]],
    ['more than the price', [plainTransfer({ amount: buyer.PRICE + 1n })]],
    ['bytes after the amount', [plainTransfer({ trailing: [1, 2] })]],
    ['an account that it creates', [createRecipient(new Uint8Array()), plainTransfer()]],
    ['an account that it creates if missing', [createRecipient(Uint8Array.of(1)), plainTransfer()]],
    ['other instructions', [memo('', [[buyer.BUYER, 's']]), transferChecked(), memo('two')]],
    ['a transfer after one that is too small', [plainTransfer({ amount: 1n }), plainTransfer()]],
  ])('may have %s', (_name, instructions) => {
    expect(buyer.paid(check(wireOf(instructions))).payer).toBe(buyer.BUYER);
  });

  it('may be signed by a member of the multisig that owns the funds', () => {
    const keys: buyer.Key[] = [
      [buyer.SOURCE, 'w'],
      [buyer.DESTINATION, 'w'],
      [buyer.STRANGER],
      [buyer.BUYER, 's'],
    ];
    expect(buyer.paid(check(wireOf([plainTransfer({ keys })]))).payer).toBe(buyer.STRANGER);
  });

  it('may be a legacy message whose fee another wallet pays', () => {
    const parts = { payer: buyer.STRANGER, signers: [buyer.buyerKey, buyer.strangerKey] };
    const { payer, feePayer } = buyer.paid(
      check(buyer.wireOf({ ...parts, instructions: [plainTransfer()] })),
    );
    expect({ payer, feePayer }).toEqual({ payer: buyer.BUYER, feePayer: buyer.STRANGER });
  });

  it('moves the token of Token-2022 where the terms name it', () => {
    const terms = {
      ...buyer.TERMS,
      tokenProgram: TOKEN_2022_PROGRAM,
      tokenAccount: deriveAta(buyer.SELLER, buyer.MINT, TOKEN_2022_PROGRAM),
    };
    const keys: buyer.Key[] = [
      [buyer.SOURCE, 'w'],
      [terms.tokenAccount, 'w'],
      [buyer.BUYER, 's'],
    ];
    expect(check(wireOf([plainTransfer({ program: TOKEN_2022_PROGRAM, keys })]), terms).ok).toBe(true);
    expect(check(wireOf([plainTransfer({ keys })]), terms).ok).toBe(false);
  });
});

describe('a payment of the example without the right transfer', () => {
  const found = (amount: bigint) => ({
    error: WRONG,
    details: `Found transfer of ${amount}, expected ${buyer.PRICE}`,
  });
  const none = { error: WRONG, details: 'No valid token transfer instruction found' };

  it('reports the amount that it found, and never adds amounts up', () => {
    expect(errorOf(wireOf([plainTransfer({ amount: 7n })]))).toEqual(found(7n));
    const less = buyer.PRICE - 1n;
    const parts = [1n, less, 2n].map((amount) => transferChecked({ amount }));
    expect(errorOf(wireOf(parts))).toEqual(found(less));
    expect(buyer.refusal(check(wireOf(parts)))).toEqual({
      reason: 'invalid_exact_svm_payload_amount_mismatch',
      payer: buyer.BUYER,
    });
  });

  it.each([
    [
      'an authority that does not sign',
      plainTransfer({ keys: [[buyer.SOURCE, 'w'], [buyer.DESTINATION, 'w'], [buyer.STRANGER]] }),
    ],
    ['only a memo', memo('', [[buyer.BUYER, 's']])],
    ['a look-alike program', plainTransfer({ program: buyer.OTHER_PROGRAM })],
    ['the other token program', plainTransfer({ program: TOKEN_2022_PROGRAM })],
    ['another account', plainTransfer({ keys: [[buyer.SOURCE], [buyer.STRANGER], [buyer.BUYER, 's']] })],
    [
      'the credited account as source',
      plainTransfer({ keys: [[buyer.DESTINATION], [buyer.DESTINATION], [buyer.BUYER, 's']] }),
    ],
    [
      'another mint',
      transferChecked({ keys: [[buyer.SOURCE], [buyer.STRANGER], [buyer.DESTINATION], [buyer.BUYER, 's']] }),
    ],
    [
      'data that is too short',
      buyer.instruction(TOKEN_PROGRAM, buyer.CHECKED_KEYS, Uint8Array.of(3, 1, 2, 3, 4, 5, 6, 7)),
    ],
    [
      'data without decimals',
      buyer.instruction(TOKEN_PROGRAM, buyer.CHECKED_KEYS, Uint8Array.of(12, ...buyer.u64(buyer.PRICE))),
    ],
    [
      'another opcode',
      buyer.instruction(TOKEN_PROGRAM, buyer.CHECKED_KEYS, Uint8Array.of(4, ...buyer.u64(buyer.PRICE))),
    ],
  ])('has %s', (_name, instruction) => {
    expect(errorOf(wireOf([instruction]))).toEqual(none);
    expect(buyer.refusal(check(wireOf([instruction]))).reason).toBe(
      'invalid_exact_svm_payload_no_transfer_instruction',
    );
  });
});

describe('the rules for a payment of the example refuse', () => {
  const reasonOf = (wire: Uint8Array) => {
    expect(errorOf(wire).error).toBe(FAILED);
    return buyer.refusal(check(wire)).reason.replace('invalid_exact_svm_payload_', '');
  };

  it('a missing or wrong signature', () => {
    expect(reasonOf(wireOf([plainTransfer()], []))).toBe('signature_invalid');
    const parts = { payer: buyer.STRANGER, instructions: [plainTransfer()] };
    expect(reasonOf(buyer.wireOf(parts))).toBe('signature_invalid');
    const forged = wireOf([plainTransfer()]).fill(9, 1, 65);
    expect(reasonOf(forged)).toBe('signature_invalid');
  });

  it('a key of ours among its accounts', () => {
    const included = 'transaction_fee_payer_included_in_instruction_accounts';
    expect(reasonOf(buyer.wireOf({ instructions: [plainTransfer()] }))).toBe(included);
    const touches = buyer.instruction(buyer.OTHER_PROGRAM, [[buyer.RETIRED]], new Uint8Array());
    expect(reasonOf(wireOf([plainTransfer(), touches]))).toBe(included);
  });

  it('a durable nonce', () => {
    const advance = SystemProgram.nonceAdvance({
      noncePubkey: buyer.strangerKey.publicKey,
      authorizedPubkey: buyer.buyerKey.publicKey,
    });
    const wire = wireOf([advance, plainTransfer()]);
    expect(errorOf(wire)).toEqual({ error: FAILED, details: expect.stringContaining('durable nonce') });
  });

  it('a lookup table', () => {
    const state = {
      addresses: [new PublicKey(buyer.DESTINATION)],
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
    };
    const table = new AddressLookupTableAccount({ key: new PublicKey(buyer.STRANGER), state });
    const transaction = new VersionedTransaction(
      MessageV0.compile({
        payerKey: buyer.buyerKey.publicKey,
        recentBlockhash: buyer.BLOCKHASH,
        instructions: [plainTransfer()],
        addressLookupTableAccounts: [table],
      }),
    );
    transaction.sign([buyer.buyerKey]);
    expect(reasonOf(transaction.serialize())).toBe('transaction_could_not_be_decoded');
  });
});

describe('a transaction that its buyer has submitted', () => {
  const MEMO = 'x402:abc';
  const submitted = (instructions: buyer.WireParts['instructions'], signers = [buyer.buyerKey]) =>
    checkSubmitted(wireOf(instructions, signers), buyer.TERMS, MEMO);
  const reasonOf = (...args: Parameters<typeof submitted>) => buyer.refusal(submitted(...args)).reason;

  it.each([
    ['plain transfer', plainTransfer()],
    ['checked transfer', transferChecked()],
  ])('pays by a %s and the memo, which may have signers', (_name, transfer) => {
    expect(buyer.paid(submitted([transfer, memo(MEMO, [[buyer.BUYER, 's']])])).amount).toBe(buyer.PRICE);
    expect(submitted([memo(MEMO), transfer]).ok).toBe(true);
  });

  it('has exactly one memo, with this text', () => {
    expect(reasonOf([plainTransfer()])).toBe('invalid_exact_svm_payload_memo_count');
    expect(reasonOf([plainTransfer(), memo(MEMO), memo(MEMO)])).toBe('invalid_exact_svm_payload_memo_count');
    expect(reasonOf([plainTransfer(), memo(`${MEMO}d`)])).toBe('invalid_exact_svm_payload_memo_mismatch');
  });

  it('is never attributed to an authority that does not sign', () => {
    const keys: buyer.Key[] = [[buyer.SOURCE, 'w'], [buyer.DESTINATION, 'w'], [buyer.STRANGER]];
    const instructions = [memo(MEMO), plainTransfer({ keys })];
    expect(reasonOf(instructions)).toBe('invalid_exact_svm_payload_no_transfer_instruction');
    expect(readBroken(wireOf(instructions), buyer.TERMS, MEMO)?.payer).toBe(buyer.BUYER);
  });

  it('pays the price to the recipient, with all signatures', () => {
    const less = plainTransfer({ amount: 1n });
    expect(reasonOf([less, memo(MEMO)])).toBe('invalid_exact_svm_payload_amount_mismatch');
    expect(reasonOf([plainTransfer(), memo(MEMO)], [])).toBe('invalid_exact_svm_payload_signature_invalid');
  });
});
