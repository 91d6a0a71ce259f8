import type { IncomingHttpHeaders } from 'node:http';
import { paymentId } from '../../domain/payment.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { readQuoteToken } from '../formats/quote-token.ts';
import { hasPayment, readPayment } from '../formats/read-payment.ts';
import type { PricedRoute } from '../routes/route.ts';
import { type RouteBook, rivalsOf } from '../routes/route-book.ts';
import type { Proof } from '../terms.ts';
import type { SaleDeps } from './sale.ts';

/**
 * The route whose price the request pays. That is `matched`, unless a reload has moved the path to another route since:
 * then it is the route of the stored payment, or of the quote.
 */
export async function paidRoute(
  deps: Pick<SaleDeps, 'ledger' | 'network' | 'quoteSecrets'>,
  book: RouteBook,
  matched: PricedRoute,
  request: { readonly method: string; readonly target: string; readonly headers: IncomingHttpHeaders },
): Promise<PricedRoute> {
  if (!book.hasEarlier || !hasPayment(request.headers)) return matched;
  const rivals = rivalsOf(book, matched, request.method, request.target);
  const presented = rivals.length === 0 ? null : readPayment(request.headers);
  if (presented?.kind !== 'proof') return matched;
  const paidId = await routeIdOf(deps, presented.proof);
  return rivals.find(({ id }) => id === paidId) ?? matched;
}

async function routeIdOf(
  { ledger, network, quoteSecrets }: Pick<SaleDeps, 'ledger' | 'network' | 'quoteSecrets'>,
  proof: Proof,
): Promise<string | undefined> {
  // An expired token names its route, too, so time 0 disables the expiry.
  if (proof.dialect === 'submitted') return readQuoteToken(quoteSecrets, proof.quoteToken, 0)?.route;
  const signed = readSigned(proof.wire);
  if (signed === null) return undefined;
  return (await ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message))))?.route;
}
