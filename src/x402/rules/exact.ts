import type { Checked, Terms } from '../terms.ts';
import { checkExactMessage, type ExactBounds } from './exact-message.ts';
import { paymentOf } from './payments.ts';
import { checkSignatures, checkWire } from './wire.ts';

/**
 * Checks that wire bytes pay the terms by scheme `exact`, versions 1 and 2. Calls no node; cheap checks come first.
 * The fee payer may have signed or not. Refusals have codes of version 2: see `reasonOfVersion1`. Source:
 * scheme_exact_svm.
 */
export function checkExact(wire: Uint8Array, terms: Terms, bounds: ExactBounds): Checked {
  return checkWire(wire, (read) => {
    const { transfer, fees } = checkExactMessage(read.message, terms, bounds);
    const signature = checkSignatures(read.signed, 'may-be-missing');
    return paymentOf(read, terms.asset, transfer, fees, signature);
  });
}
