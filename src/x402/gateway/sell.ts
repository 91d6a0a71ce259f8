import { paymentId } from '../../domain/payment.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { bazaarExtension } from '../formats/bazaar.ts';
import type { JsonObject } from '../formats/json.ts';
import { paymentRequired, type QuotedTerms } from '../formats/payment-required.ts';
import { identifierOf, issueQuoteToken, readQuoteToken, signPriceQuote } from '../formats/quote-token.ts';
import { echoesExtensions, isPaymentIdentifier, readPayment } from '../formats/read-payment.ts';
import type { IssuedPass } from '../passes/passes.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Proof, Resource, Terms } from '../terms.ts';
import { timed } from '../timed.ts';
import { answerOutcome, jsonAnswer, type LabelledAnswer, labelled, tooManyPayments } from './answers.ts';
import { buy, buyNothing, serveKnownPayment } from './buy.ts';
import { checkProof } from './check-proof.ts';
import type { EndedOffer, Offer } from './offers.ts';
import { isUnbound, type Sale, type SaleDeps, type SaleOutcome } from './sale.ts';
import { serveByPass } from './serve-by-pass.ts';
import { askForPrice, type PricedTerms } from './upstream-price.ts';

const RETRY_AFTER_SECONDS = '10';
const SERIALIZED_REFUSED =
  'this route refuses payload.serializedTransaction. Do not send this transaction: sign one of another form, by the terms of this response';
/** How long after the quote a buyer may present its payment. */
const QUOTE_VALID_MS = 30 * 60_000;

/**
 * Responds to a request for a priced route: without payment with the terms, otherwise with what the payment buys. The
 * terms are always those of `matched`, the sale by the route that sells the request now. `sale` is by the route that the
 * payment is for: only a reload makes them differ, and its price may be lower.
 */
export async function sell(deps: SaleDeps, sale: Sale, matched: Sale): Promise<LabelledAnswer> {
  const presented = readPayment(sale.headers);
  const askToPay = (error: string, fields: object = {}) => termsAnswer(deps, matched, error, fields);
  if (presented.kind === 'none')
    return (await serveByPass(deps, sale, askToPay)) ?? askToPay('X-PAYMENT header is required');
  const refuse = async (reason: string, error: string, fields?: object) =>
    labelled(await askToPay(error, fields), 'refused', reason);
  if (presented.kind === 'undecodable')
    return presented.header === 'X-PAYMENT'
      ? refuse('undecodable', 'Payment verification failed', { details: presented.reason })
      : refuse('undecodable', `PAYMENT-SIGNATURE cannot be read: ${presented.reason}`);
  const seconds = deps.takePaymentToken(sale.limitedAddress);
  if (seconds > 0) return tooManyPayments(seconds);
  const { proof } = presented;
  const { network, explorerUrl } = deps;
  const answer = async (outcome: SaleOutcome) => {
    const accessPass = await passOf(deps, sale, outcome);
    const presentedProof = { dialect: proof.dialect, network, askToPay, explorerUrl, accessPass };
    const made = await answerOutcome(outcome, presentedProof);
    return labelled(made, outcome.kind, outcome.kind === 'refused' ? outcome.reason : null);
  };
  const offer = offerOf(deps, sale);
  const known = await knownPayment(deps, proof);
  if (known !== undefined) {
    const caller = { ...sale.caller, identifier: buyerIdentifier(deps, sale, proof) };
    const heldPayment = await deps.passes.paymentOf(sale);
    return answer(await serveKnownPayment(deps, { ...sale, caller, heldPayment }, known));
  }
  if (offer.kind === 'closed') return notSoldAnswer(offer);
  const fault = identifierFault(sale, proof);
  if (fault !== null) return labelled(jsonAnswer(400, { error: fault }), 'refused', 'payment_identifier');
  if (proof.dialect === 'example' && sale.route.serializedTransaction === 'refused')
    return refuse('form_not_accepted', 'Payment verification failed', { details: SERIALIZED_REFUSED });
  if (proof.dialect === 'v2' && !echoesExtensions(proof.extensions, sale.route.paymentIdentifier))
    return refuse('extension_echo_mismatch', 'extension_echo_mismatch');
  const checked = await timed(deps.observe, 'checks', () => checkProof(deps, sale, offer, proof));
  if (checked.kind !== 'checked') return answer(checked);
  const { order, flaw } = checked;
  return answer(await (flaw === null ? buy(deps, order) : buyNothing(deps, order, flaw)));
}

function offerOf({ offers }: SaleDeps, { ended, route }: Sale): Offer | EndedOffer {
  return ended ?? offers.of(route.id);
}

/** A 402 with the terms of the sale; 404 or 503 if it has none now. */
async function termsAnswer(
  deps: SaleDeps,
  sale: Sale,
  error: string,
  fields: object,
): Promise<LabelledAnswer> {
  const offer = offerOf(deps, sale);
  if (offer.kind !== 'open') return notSoldAnswer(offer);
  const priced = await currentTerms(deps, sale, offer.current);
  return priced.ok
    ? paymentRequiredAnswer(deps, sale, priced.value, error, fields)
    : closedAnswer(priced.reason);
}

/** The pass of a payment that is served now. A fault of the pass must not withhold the paid response. */
async function passOf(
  { passes, warn }: SaleDeps,
  sale: Sale,
  outcome: SaleOutcome,
): Promise<IssuedPass | null> {
  if (outcome.kind !== 'served') return null;
  const { id } = outcome.payment;
  return passes.issue(sale, id).catch((error: unknown) => {
    warn(error, `the access pass of payment ${id} was not issued`);
    return null;
  });
}

function notSoldAnswer(offer: Exclude<Offer, { kind: 'open' }> | EndedOffer): LabelledAnswer {
  return offer.kind === 'closed'
    ? closedAnswer(offer.reason)
    : labelled(jsonAnswer(404, { error: 'this resource is no longer sold' }), 'not_found');
}

function closedAnswer(reason: string): LabelledAnswer {
  const error = `this resource cannot be sold now: ${reason}`;
  return labelled(jsonAnswer(503, { error }, { 'retry-after': RETRY_AFTER_SECONDS }), 'closed');
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

async function currentTerms(
  deps: SaleDeps,
  sale: Sale,
  current: readonly [Terms, ...Terms[]],
): Promise<PricedTerms> {
  return sale.route.upstreamPrice === null ? { ok: true, value: current } : askForPrice(deps, sale, current);
}

function bazaarOf({ discovery, ...route }: PricedRoute, { url }: Resource, path: string): JsonObject | null {
  const prefix = new URL(url).pathname.slice(0, -path.length);
  return discovery === null ? null : bazaarExtension({ ...route, discovery }, prefix, path);
}

/** Quotes bind a payment to the request and to the terms of one asset. */
function quote(
  { quoteSecrets: [secret] }: SaleDeps,
  { route, requestHash }: Sale,
  terms: Terms,
): QuotedTerms {
  const { asset, payTo, amount } = terms;
  const { upstreamPrice } = route;
  const validMs = upstreamPrice === null ? QUOTE_VALID_MS : upstreamPrice.validSeconds * 1000;
  const expiresAt = Date.now() + validMs;
  const sold = { route: route.id, request: requestHash };
  const claims = { ...sold, amount: amount.toString(), asset, payTo, expiresAt };
  const priceQuote = upstreamPrice === null ? null : signPriceQuote(secret, { ...sold, terms }, expiresAt);
  return { terms, quoteToken: issueQuoteToken(secret, claims), priceQuote };
}

async function paymentRequiredAnswer(
  deps: SaleDeps,
  sale: Sale,
  [first, ...others]: readonly [Terms, ...Terms[]],
  error: string,
  fields: object,
): Promise<LabelledAnswer> {
  const { route, resource } = sale;
  // The hint is optional: without one, buyers fetch a blockhash themselves.
  const hint = await deps.chain.latestBlockhash().catch(() => null);
  const signIn = deps.passes.challengeOf(sale);
  const bazaar = bazaarOf(route, resource, sale.path);
  const details = { hint, identifier: route.paymentIdentifier, signIn, bazaar, fields };
  const offered = [quote(deps, sale, first), ...others.map((terms) => quote(deps, sale, terms))] as const;
  const { headers, body } = paymentRequired(offered, resource, error, details);
  return labelled(jsonAnswer(402, body, headers), 'asked');
}
