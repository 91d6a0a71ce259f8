import { paymentId } from '../../domain/payment.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { bazaarExtension } from '../formats/bazaar.ts';
import type { JsonObject } from '../formats/json.ts';
import { paymentRequired } from '../formats/payment-required.ts';
import { identifierOf, issueQuoteToken, readQuoteToken } from '../formats/quote-token.ts';
import { echoesExtensions, isPaymentIdentifier, readPayment } from '../formats/read-payment.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Proof, Resource, Terms } from '../terms.ts';
import { answerOutcome, type GatewayAnswer, jsonAnswer } from './answers.ts';
import { buy, buyNothing, serveKnownPayment } from './buy.ts';
import { checkProof } from './check-proof.ts';
import type { EndedOffer, Offer } from './offers.ts';
import { isUnbound, type Sale, type SaleDeps, type SaleOutcome } from './sale.ts';

const RETRY_AFTER_SECONDS = '10';
/** How long after the quote a buyer may present its payment. */
const QUOTE_VALID_MS = 30 * 60_000;

/** Responds to a request for a priced route: without payment with the terms, otherwise with what the payment buys. */
export async function sell(deps: SaleDeps, sale: Sale): Promise<GatewayAnswer> {
  const presented = readPayment(sale.headers);
  const offer = sale.ended ?? deps.offers.of(sale.route.id);
  const askToPay = async (error: string, fields: object = {}) =>
    offer.kind === 'open'
      ? paymentRequiredAnswer(deps, sale, offer.current, error, fields)
      : notSoldAnswer(offer);
  if (presented.kind === 'none') return askToPay('X-PAYMENT header is required');
  if (presented.kind === 'undecodable')
    return presented.header === 'X-PAYMENT'
      ? askToPay('Payment verification failed', { details: presented.reason })
      : askToPay(`PAYMENT-SIGNATURE cannot be read: ${presented.reason}`);
  const seconds = deps.takePaymentToken(sale.caller.address);
  if (seconds > 0) return tooManyPayments(seconds);
  const { proof } = presented;
  const { network, explorerUrl } = deps;
  const answer = async (outcome: SaleOutcome) =>
    answerOutcome(outcome, { dialect: proof.dialect, network, askToPay, explorerUrl });
  const known = await knownPayment(deps, proof);
  if (known !== undefined) {
    const caller = { ...sale.caller, identifier: buyerIdentifier(deps, sale, proof) };
    return answer(await serveKnownPayment(deps, { ...sale, caller }, known));
  }
  if (offer.kind === 'closed') return notSoldAnswer(offer);
  const fault = identifierFault(sale, proof);
  if (fault !== null) return jsonAnswer(400, { error: fault });
  if (proof.dialect === 'v2' && !echoesExtensions(proof.extensions, sale.route.paymentIdentifier))
    return askToPay('extension_echo_mismatch');
  const checked = await checkProof(deps, sale, offer.valid, proof);
  if (checked.kind !== 'checked') return answer(checked);
  const { order, flaw } = checked;
  return answer(await (flaw === null ? buy(deps, order) : buyNothing(deps, order, flaw)));
}

/** The payment is not looked at: the buyer can send it again. */
function tooManyPayments(seconds: number): GatewayAnswer {
  const error = `too many payments of one client address: send the same payment again in ${seconds} s`;
  return jsonAnswer(429, { error }, { 'retry-after': String(seconds) });
}

function notSoldAnswer(offer: Exclude<Offer, { kind: 'open' }> | EndedOffer): GatewayAnswer {
  if (offer.kind === 'ended') return jsonAnswer(404, { error: 'this resource is no longer sold' });
  const error = `this resource cannot be sold now: ${offer.reason}`;
  return jsonAnswer(503, { error }, { 'retry-after': RETRY_AFTER_SECONDS });
}

/**
 * The recorded payment of a proof, whatever the current terms are. Undefined also for a payment without settlement.
 */
async function knownPayment(deps: SaleDeps, proof: Proof): Promise<PaymentRow | undefined> {
  const payment = await (proof.dialect === 'submitted'
    ? deps.ledger.payments.findByName(proof.signature)
    : paymentOfWire(deps, proof.wire));
  return payment !== undefined && isUnbound(payment) ? undefined : payment;
}

async function paymentOfWire({ ledger, network }: SaleDeps, wire: Uint8Array) {
  const signed = readSigned(wire);
  return signed === null
    ? undefined
    : ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message)));
}

/** The identifier in a proof that only the buyer of a recorded payment knows; null if there is none. */
function buyerIdentifier(
  { quoteSecrets }: SaleDeps,
  { route, requestHash }: Sale,
  proof: Proof,
): string | null {
  if (proof.dialect === 'v2') return proof.paymentIdentifier;
  if (proof.dialect !== 'submitted') return null;
  // An expired token identifies its buyer too, so time 0 disables the expiry.
  const quoted = readQuoteToken(quoteSecrets, proof.quoteToken, 0);
  const isOfSale = quoted?.route === route.id && quoted.request === requestHash;
  return isOfSale ? identifierOf(proof.quoteToken) : null;
}

/**
 * Error for a payment identifier that is malformed, or required but missing; null if there is none. Only version 2 has
 * the extension: a buyer of another form cannot send one, and may have paid before the gateway sees the payment.
 */
function identifierFault({ route }: Sale, proof: Proof): string | null {
  if (proof.dialect !== 'v2') return null;
  const id = proof.paymentIdentifier;
  if (route.paymentIdentifier === 'required' && id === null)
    return 'this route requires a payment identifier: set extensions["payment-identifier"].info.id';
  if (id === null || isPaymentIdentifier(id)) return null;
  return 'extensions["payment-identifier"].info.id must be 16 to 128 characters of A-Z a-z 0-9 - _';
}

function bazaarOf({ discovery, ...route }: PricedRoute, { url }: Resource, path: string): JsonObject | null {
  const prefix = new URL(url).pathname.slice(0, -path.length);
  return discovery === null ? null : bazaarExtension({ ...route, discovery }, prefix, path);
}

async function paymentRequiredAnswer(
  { quoteSecrets, chain }: SaleDeps,
  { route, resource, path, requestHash }: Sale,
  terms: Terms,
  error: string,
  fields: object,
): Promise<GatewayAnswer> {
  const quoteToken = issueQuoteToken(quoteSecrets[0], {
    route: route.id,
    request: requestHash,
    amount: terms.amount.toString(),
    asset: terms.asset,
    payTo: terms.payTo,
    expiresAt: Date.now() + QUOTE_VALID_MS,
  });
  // The hint is optional: without one, buyers fetch a blockhash themselves.
  const hint = await chain.latestBlockhash().catch(() => null);
  const details = {
    quoteToken,
    hint,
    identifier: route.paymentIdentifier,
    bazaar: bazaarOf(route, resource, path),
    fields,
  };
  const { headers, body } = paymentRequired(terms, resource, error, details);
  return jsonAnswer(402, body, headers);
}
