import type { Checked, ExactPayment, Terms } from '../terms.ts';
import { checkBuyersTransaction, feesIn } from './example.ts';
import { checkOnlyMemo, hasMemo } from './memos.ts';
import { paymentOf } from './payments.ts';
import { BrokenRule } from './reasons.ts';
import { payerOf } from './transfers.ts';
import { checkSignatures, checkWire, readWire } from './wire.ts';

/**
 * Does a transaction that its buyer has sent pay the terms, with exactly one memo, whose text is `memo`? All signers have signed it.
 * Source: docs/interface.md, Payment-protected endpoint: Alternative on this chain.
 */
export function checkSubmitted(wire: Uint8Array, terms: Terms, memo: string): Checked {
  return checkWire(wire, (read) => {
    checkOnlyMemo(read.message.instructions, memo);
    return checkBuyersTransaction(read, terms);
  });
}

/**
 * A transaction that {@link checkSubmitted} refuses, and that may have paid all the same: a memo of it is `memo`, it names the token account
 * of the terms, and all signers have signed it. `amount` is 0: only the chain says what arrived. Its payer is its fee payer where it has no
 * token transfer of its own. Null for any other transaction, and for one with an address lookup table.
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
