import type { IncomingHttpHeaders } from 'node:http';
import { paymentId } from '../../domain/payment.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { readQuoteToken } from '../formats/quote-token.ts';
import { hasPayment, readPayment } from '../formats/read-payment.ts';
import type { PricedRoute } from '../routes/route.ts';
import { type RouteBook, rivalsOf } from '../routes/route-book.ts';
import { requestHashOf, type Target } from '../routes/target.ts';
import type { Proof } from '../terms.ts';
import type { SaleDeps } from './sale.ts';

/**
 * The route whose price the request pays. That is `matched`, unless a reload has moved the path to another route since:
 * then it is the route of the stored payment, or of the quote. Both count only for this very request: a quote of another
 * path can be cheaper.
 */
export async function paidRoute(
  deps: Pick<SaleDeps, 'ledger' | 'network' | 'quoteSecrets'>,
  book: RouteBook,
  matched: PricedRoute,
  request: { readonly target: Target; readonly headers: IncomingHttpHeaders; readonly body: Uint8Array },
): Promise<PricedRoute> {
  const { target, headers, body } = request;
  if (!hasPayment(headers)) return matched;
  const rivals = rivalsOf(book, matched, target);
  const presented = rivals.length === 0 ? null : readPayment(headers);
  if (presented?.kind !== 'proof') return matched;
  const paidHash = await requestHashOfProof(deps, presented.proof);
  return rivals.find((rival) => requestHashOf(rival, rival.method, target, body) === paidHash) ?? matched;
}

/** The hash of the request that the payment is for: it includes the route. Undefined if it is not known. */
async function requestHashOfProof(
  { ledger, network, quoteSecrets }: Pick<SaleDeps, 'ledger' | 'network' | 'quoteSecrets'>,
  proof: Proof,
): Promise<string | undefined> {
  // An expired token names its request, too, so time 0 disables the expiry.
  if (proof.dialect === 'submitted') return readQuoteToken(quoteSecrets, proof.quoteToken, 0)?.request;
  const signed = readSigned(proof.wire);
  if (signed === null) return undefined;
  return (await ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message))))?.requestHash;
}
