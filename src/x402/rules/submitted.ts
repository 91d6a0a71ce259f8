import type { Checked, ExactPayment, Terms } from '../terms.ts';
import { checkBuyersTransaction, feesIn } from './example.ts';
import { checkOnlyMemo, hasMemo } from './memos.ts';
import { paymentOf } from './payments.ts';
import { BrokenRule } from './reasons.ts';
import { payerOf } from './transfers.ts';
import { checkSignatures, checkWire, readWire } from './wire.ts';

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
