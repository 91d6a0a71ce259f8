import type { DecodedMessage } from '../../solana/tx/message.ts';
import { MAX_COMPUTE_UNITS } from '../../solana/tx/priority-fee.ts';
import { MEMO_PROGRAM } from '../../solana/tx/programs.ts';
import type { Checked, ExactPayment, Refused, Terms } from '../terms.ts';
import { checkOnlyMemo, hasMemo } from './exact.ts';
import { type Fees, feesOf } from './exact-fees.ts';
import { BrokenRule, REASONS, refuse } from './reasons.ts';
import {
  checkSignatures,
  checkWire,
  paymentOf,
  readTransfer,
  readWire,
  type TransferInstruction,
  transfersIn,
  type WireTransaction,
} from './transaction.ts';

const WRONG_TRANSFER_REASONS: ReadonlySet<string> = new Set([REASONS.noTransfer, REASONS.amount]);
/** Compute units for each instruction of a transaction that sets no limit. */
const DEFAULT_COMPUTE_UNITS = 200_000;

/**
 * Checks that wire bytes pay the terms in the dialect of the interface's example: all signers have signed, and one
 * transfer credits the terms' token account with at least the price. If the terms have a memo, it is the only memo.
 * Other instructions are allowed, such as the creation of the token account. `managed`: our fee payers, which the transaction must not name.
 * Source: docs/interface.md, Payment-protected endpoint 1 and 2.
 */
export function checkExample(
  wire: Uint8Array,
  terms: Terms,
  { managed }: { readonly managed: readonly string[] },
): Checked {
  return checkWire(wire, (transaction) => {
    checkNoFeePayer(transaction.message, managed);
    checkNoQuoteMemo(transaction.message);
    if (terms.memo !== null) checkOnlyMemo(transaction.message.instructions, terms.memo);
    return checkBuyerTransaction(transaction, terms);
  });
}

/** Checks a transaction that the buyer signs completely. @throws BrokenRule */
function checkBuyerTransaction(transaction: WireTransaction, terms: Terms): ExactPayment {
  const transfer = findTransfer(transaction.message, terms);
  const signature = checkSignatures(transaction.signed, 'must-sign');
  return paymentOf(transaction, terms.asset, transfer, feesIn(transaction.message), signature);
}

/**
 * Error and details in the interface's wording, for a refusal of {@link checkExample}. Source: docs/interface.md,
 * Errors.
 */
export function exampleError({ reason, message }: Pick<Refused, 'reason' | 'message'>) {
  const error = WRONG_TRANSFER_REASONS.has(reason)
    ? 'No valid transfer to the recipient with the correct amount'
    : 'Payment verification failed';
  return { error, details: message };
}

/**
 * The first authorized transfer that pays the whole price. Amounts of several transfers are not added up. An authority
 * that does not sign is not the buyer, even if the transaction failed and is on chain.
 */
function findTransfer({ instructions }: DecodedMessage, terms: Terms): TransferInstruction {
  const { asset, tokenProgram, tokenAccount, amount: price } = terms;
  const toRecipient = instructions
    .filter(({ program }) => program === tokenProgram)
    .flatMap((instruction) => readTransfer(instruction) ?? [])
    .filter(({ source, mint, destination, isAuthorized }) => {
      const isOfAsset = mint === null || mint === asset;
      return isAuthorized && isOfAsset && destination === tokenAccount && source !== destination;
    });
  const [first, ...others] = toRecipient;
  if (first === undefined) refuse(REASONS.noTransfer, 'No valid token transfer instruction found');
  const valid = toRecipient.find(({ amount }) => amount >= price);
  if (valid !== undefined) return valid;
  const largest = others.reduce((best, { amount }) => (amount > best ? amount : best), first.amount);
  refuse(REASONS.amount, `Found transfer of ${largest}, expected ${price}`);
}

function feesIn(message: DecodedMessage): Fees {
  const { computeUnitLimit, computeUnitPriceMicroLamports, instructions, signers } = message;
  const units = computeUnitLimit ?? DEFAULT_COMPUTE_UNITS * instructions.length;
  return feesOf(signers.length, Math.min(units, MAX_COMPUTE_UNITS), computeUnitPriceMicroLamports ?? 0n);
}

function checkNoFeePayer({ accounts }: DecodedMessage, managed: readonly string[]): void {
  const named = accounts.find((address) => managed.includes(address));
  if (named !== undefined)
    refuse(REASONS.feePayerIncluded, `the transaction names ${named}, a fee payer of this server`);
}

/** A transaction with a quote memo may be presented only by its buyer, with the quote token. */
function checkNoQuoteMemo({ instructions }: DecodedMessage): void {
  const isQuoted = instructions.some(
    ({ program, data }) =>
      program === MEMO_PROGRAM && Buffer.from(data).toString('latin1').startsWith('x402:'),
  );
  if (isQuoted)
    refuse(
      REASONS.memo,
      'the memo binds the transaction to a quote: present its signature with the quoteToken instead',
    );
}

/**
 * Checks that a transaction which its buyer sent is signed by all signers, pays the terms, and has exactly one memo,
 * equal to `memo`. Source: docs/interface.md, Payment-protected endpoint: Alternative on this chain.
 */
export function checkSubmitted(wire: Uint8Array, terms: Terms, memo: string): Checked {
  return checkWire(wire, (transaction) => {
    checkOnlyMemo(transaction.message.instructions, memo);
    return checkBuyerTransaction(transaction, terms);
  });
}

/**
 * Reads a transaction that {@link checkSubmitted} refuses but that can have paid: one of its memos is `memo`, it names
 * the terms' token account, and all signers have signed it. Null for any other transaction, and for one with an address
 * lookup table. The result's `amount` is 0, because only the chain has the received amount. Without an authorized
 * token transfer, its `payer` is the fee payer.
 */
export function readBroken(
  wire: Uint8Array,
  { asset, tokenAccount }: Terms,
  memo: string,
): ExactPayment | null {
  try {
    const transaction = readWire(wire);
    const { message, signed } = transaction;
    if (!hasMemo(message.instructions, memo) || !message.accounts.includes(tokenAccount)) return null;
    const transfer = {
      source: null,
      authority: transfersIn(message).find(({ isAuthorized }) => isAuthorized)?.authority ?? message.feePayer,
      amount: 0n,
      destination: tokenAccount,
    };
    return paymentOf(transaction, asset, transfer, feesIn(message), checkSignatures(signed, 'must-sign'));
  } catch (error) {
    if (error instanceof BrokenRule) return null;
    throw error;
  }
}
