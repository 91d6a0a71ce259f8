import type { Checked, Terms } from '../terms.ts';
import { checkBuyersTransaction } from './example.ts';
import { checkOnlyMemo } from './memos.ts';
import { checkWire } from './wire.ts';

/**
 * Does a transaction that its buyer has sent pay the terms, with exactly one memo, whose text is `memo`? All signers have signed it.
 * Source: exchange-interface: Payment-protected endpoint, Alternative on this chain.
 */
export function checkSubmitted(wire: Uint8Array, terms: Terms, memo: string): Checked {
  return checkWire(wire, (read) => {
    checkOnlyMemo(read.message.instructions, memo);
    return checkBuyersTransaction(read, terms);
  });
}
