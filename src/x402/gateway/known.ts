import { createHash } from 'node:crypto';
import { paymentId } from '../../domain/payment.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { readQuoteToken } from '../formats/quote-token.ts';
import type { Proof } from '../terms.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** A payment that is on record, and what only its buyer can show of it. */
export interface KnownProof {
  readonly payment: PaymentRow;
  readonly identifier: string | null;
}

/**
 * The payment on record that the proof shows, whatever is asked for now: what was accepted once is not judged by newer terms. Null for one
 * that no settlement is bound to.
 */
export async function knownPayment(deps: SaleDeps, sale: Sale, proof: Proof): Promise<KnownProof | null> {
  const payment = await rowOf(deps, proof);
  if (payment === undefined || isUnbound(payment)) return null;
  if (proof.dialect === 'v2') return { payment, identifier: proof.paymentIdentifier };
  if (proof.dialect !== 'submitted') return { payment, identifier: null };
  // However old: only its holder has it.
  const quoted = readQuoteToken(deps.quoteSecrets, proof.quoteToken, 0);
  const isOfSale = quoted?.route === sale.route.id && quoted.request === sale.requestHash;
  return { payment, identifier: isOfSale ? identifierOf(proof.quoteToken) : null };
}

/** What a quote token shows: a payment identifier never holds a colon. */
export function identifierOf(quoteToken: string): string {
  return `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
}

function rowOf({ ledger, network }: SaleDeps, proof: Proof): Promise<PaymentRow | undefined> {
  if (proof.dialect === 'submitted') return ledger.payments.findNamed(proof.signature);
  const signed = readSigned(proof.wire);
  if (signed === null) return Promise.resolve(undefined);
  return ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message)));
}

/** Listed because it was on the chain before it was shown: anybody may have shown it. */
function isUnbound({ state, received }: PaymentRow): boolean {
  return state === 'unmatched' && received === null;
}
