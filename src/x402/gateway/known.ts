import { createHash } from 'node:crypto';
import { paymentId } from '../../domain/payment.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { readQuoteToken } from '../formats/quote-token.ts';
import type { Proof } from '../terms.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** A recorded payment, and the identifier that only its buyer knows. */
export interface KnownProof {
  readonly payment: PaymentRow;
  readonly identifier: string | null;
}

/** The recorded payment of a proof, judged by no newer terms. Null if no settlement is bound to it. */
export async function knownPayment(deps: SaleDeps, sale: Sale, proof: Proof): Promise<KnownProof | null> {
  const payment = await rowOf(deps, proof);
  if (payment === undefined || isUnbound(payment)) return null;
  if (proof.dialect === 'v2') return { payment, identifier: proof.paymentIdentifier };
  if (proof.dialect !== 'submitted') return { payment, identifier: null };
  // Expired tokens count too: only the buyer has the token.
  const quoted = readQuoteToken(deps.quoteSecrets, proof.quoteToken, 0);
  const isOfSale = quoted?.route === sale.route.id && quoted.request === sale.requestHash;
  return { payment, identifier: isOfSale ? identifierOf(proof.quoteToken) : null };
}

/** Caller identifier of a quote token. It cannot equal a payment identifier, which contains no colon. */
export function identifierOf(quoteToken: string): string {
  return `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
}

function rowOf({ ledger, network }: SaleDeps, proof: Proof): Promise<PaymentRow | undefined> {
  if (proof.dialect === 'submitted') return ledger.payments.findNamed(proof.signature);
  const signed = readSigned(proof.wire);
  if (signed === null) return Promise.resolve(undefined);
  return ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message)));
}

/** Recorded only because it was on chain before it was presented: the presenter may not be its buyer. */
function isUnbound({ state, received }: PaymentRow): boolean {
  return state === 'unmatched' && received === null;
}
