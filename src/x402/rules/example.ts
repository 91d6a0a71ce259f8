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
  payerOf,
  paymentOf,
  readTransfer,
  readWire,
  type TransferInstruction,
  type WireTransaction,
} from './transaction.ts';

const WRONG_TRANSFER: ReadonlySet<string> = new Set([REASONS.noTransfer, REASONS.amount]);
/** Compute units that the runtime grants for each instruction without an explicit limit. */
const DEFAULT_UNITS = 200_000;

/**
 * Checks that wire bytes pay the terms in the dialect of the interface's example. All signers have signed, and one
 * transfer credits the terms' token account with at least the price. Other instructions are allowed, such as the
 * creation of the token account. `managed`: our fee payers, which the transaction must not name. Source:
 * docs/interface.md, Payment-protected endpoint 1 and 2.
 */
export function checkExample(
  wire: Uint8Array,
  terms: Terms,
  { managed }: { readonly managed: readonly string[] },
): Checked {
  return checkWire(wire, (read) => {
    checkUnmanaged(read.message, managed);
    checkUnquoted(read.message);
    return checkBuyersTransaction(read, terms);
  });
}

/** Rules of a transaction that the buyer signs completely. @throws BrokenRule */
function checkBuyersTransaction(read: WireTransaction, terms: Terms): ExactPayment {
  const transfer = findTransfer(read.message, terms);
  const signature = checkSignatures(read.signed, 'must-sign');
  return paymentOf(read, terms.asset, transfer, feesIn(read.message), signature);
}

/** The interface's error and details for a refusal of {@link checkExample}. Source: docs/interface.md, Errors. */
export function exampleError({ reason, message }: Pick<Refused, 'reason' | 'message'>) {
  const error = WRONG_TRANSFER.has(reason)
    ? 'No valid transfer to the recipient with the correct amount'
    : 'Payment verification failed';
  return { error, details: message };
}

/** The first transfer that pays the price alone: amounts of several transfers are not summed. */
function findTransfer({ instructions }: DecodedMessage, terms: Terms): TransferInstruction {
  const { asset, tokenProgram, tokenAccount, amount: price } = terms;
  const toRecipient = instructions
    .filter(({ program }) => program === tokenProgram)
    .flatMap((instruction) => readTransfer(instruction) ?? [])
    .filter(({ source, mint, destination }) => {
      const isOfAsset = mint === null || mint === asset;
      return isOfAsset && destination === tokenAccount && source !== destination;
    });
  const [first, ...others] = toRecipient;
  if (first === undefined) refuse(REASONS.noTransfer, 'No valid token transfer instruction found');
  const valid = toRecipient.find(({ amount }) => amount >= price);
  if (valid !== undefined) return valid;
  const most = others.reduce((best, { amount }) => (amount > best ? amount : best), first.amount);
  refuse(REASONS.amount, `Found transfer of ${most}, expected ${price}`);
}

function feesIn(message: DecodedMessage): Fees {
  const { computeUnitLimit, computeUnitPriceMicroLamports, instructions, signers } = message;
  const units = computeUnitLimit ?? DEFAULT_UNITS * instructions.length;
  return feesOf(signers.length, Math.min(units, MAX_COMPUTE_UNITS), computeUnitPriceMicroLamports ?? 0n);
}

function checkUnmanaged({ accounts }: DecodedMessage, managed: readonly string[]): void {
  const named = accounts.find((address) => managed.includes(address));
  if (named !== undefined)
    refuse(REASONS.feePayerIncluded, `the transaction names ${named}, a fee payer of this server`);
}

/** A transaction with a quote memo may be presented only by its buyer, with the quote token. */
function checkUnquoted({ instructions }: DecodedMessage): void {
  const isQuoted = instructions.some(
    ({ program, data }) =>
      program === MEMO_PROGRAM && Buffer.from(data).toString('latin1').startsWith('x402:'),
  );
  if (isQuoted)
    refuse(
      REASONS.memo,
      'the transaction is bound to a quote by its memo: show its signature and the quoteToken',
    );
}

/**
 * Checks that a transaction sent by its buyer pays the terms and has exactly one memo, equal to `memo`. All signers
 * have signed it. Source: docs/interface.md, Payment-protected endpoint: Alternative on this chain.
 */
export function checkSubmitted(wire: Uint8Array, terms: Terms, memo: string): Checked {
  return checkWire(wire, (read) => {
    checkOnlyMemo(read.message.instructions, memo);
    return checkBuyersTransaction(read, terms);
  });
}

/**
 * Reads a transaction that {@link checkSubmitted} refuses but that may have paid: one of its memos is `memo`, it
 * names the terms' token account, and all signers have signed it. `amount` is 0: only the chain has the received
 * amount. Without a token transfer its payer is its fee payer. Null for any other transaction, and for one with an
 * address lookup table.
 */
export function readBroken(
  wire: Uint8Array,
  { asset, tokenAccount }: Terms,
  memo: string,
): ExactPayment | null {
  try {
    const read = readWire(wire);
    const { message, signed } = read;
    if (!hasMemo(message.instructions, memo) || !message.accounts.includes(tokenAccount)) return null;
    const transfer = {
      authority: payerOf(message) ?? message.feePayer,
      amount: 0n,
      destination: tokenAccount,
    };
    return paymentOf(read, asset, transfer, feesIn(message), checkSignatures(signed, 'must-sign'));
  } catch (error) {
    if (error instanceof BrokenRule) return null;
    throw error;
  }
}
