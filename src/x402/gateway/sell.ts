import { paymentRequired } from '../formats/payment-required.ts';
import { issueQuoteToken } from '../formats/quote-token.ts';
import { readPayment } from '../formats/read-payment.ts';
import { echoesExtensions, isPaymentIdentifier } from '../formats/v2.ts';
import type { Proof, Terms } from '../terms.ts';
import { listBroken, listLate } from './admission.ts';
import { type GatewayAnswer, json } from './answer.ts';
import { answerOutcome } from './answers.ts';
import { checkProof } from './check-proof.ts';
import { knownPayment } from './known.ts';
import type { SaleOutcome } from './outcome.ts';
import { buy, buyAgain } from './purchase.ts';
import type { Sale, SaleDeps } from './sale.ts';

const RETRY_AFTER = '10';

/** Responds to a request for a priced route: with its terms, or with what the presented payment buys. */
export async function sell(deps: SaleDeps, sale: Sale): Promise<GatewayAnswer> {
  const shown = readPayment(sale.headers);
  const offer = deps.offers.of(sale.route.id);
  const ask = (error: string, fields: object = {}) =>
    offer.kind === 'open' ? asked(deps, sale, offer.current, error, fields) : closed(offer.reason);
  if (shown.kind === 'none') return ask('X-PAYMENT header is required');
  if (shown.kind === 'undecodable')
    return shown.header === 'X-PAYMENT'
      ? ask('Payment verification failed', { details: shown.reason })
      : ask(`PAYMENT-SIGNATURE cannot be read: ${shown.reason}`);
  const { proof } = shown;
  const { network, explorerUrl } = deps;
  const words = { dialect: proof.dialect, network, ask, explorerUrl };
  const known = await knownPayment(deps, sale, proof);
  if (known !== null) {
    const caller = { ...sale.caller, identifier: known.identifier };
    return answerOutcome(await buyAgain(deps, { ...sale, caller }, known.payment), words);
  }
  if (offer.kind === 'closed') return closed(offer.reason);
  const fault = identifierFault(sale, proof);
  if (fault !== null) return json(400, { error: fault });
  if (!echoes(sale, proof)) return ask('extension_echo_mismatch');
  return answerOutcome(await outcomeOf(deps, sale, offer.valid, proof), words);
}

async function closed(reason: string): Promise<GatewayAnswer> {
  return json(503, { error: `nothing is sold here now: ${reason}` }, { 'retry-after': RETRY_AFTER });
}

async function outcomeOf(
  deps: SaleDeps,
  sale: Sale,
  valid: readonly Terms[],
  proof: Proof,
): Promise<SaleOutcome> {
  const checked = await checkProof(deps, sale, valid, proof);
  if (checked.kind !== 'checked') return checked;
  const { route, requestHash, request, caller } = sale;
  const { payment, terms, wire, shownIn, flaw, identifier } = checked;
  const order = {
    route,
    requestHash,
    request,
    caller: { ...caller, identifier },
    dialect: proof.dialect,
    wire,
    shownIn,
    payment,
    terms,
  };
  if (flaw === null) return buy(deps, order);
  return flaw.kind === 'late' ? listLate(deps, order) : listBroken(deps, order, flaw);
}

/** True if a version 2 payment's extensions contain what the route advertised. */
function echoes({ route }: Sale, proof: Proof): boolean {
  return proof.dialect !== 'v2' || echoesExtensions(proof.extensions, route.paymentIdentifier);
}

/** Error (400) for a payment identifier that is required but missing, or malformed. */
function identifierFault({ route }: Sale, proof: Proof): string | null {
  const id = proof.dialect === 'v2' ? proof.paymentIdentifier : null;
  if (route.paymentIdentifier === 'required' && id === null)
    return 'this route demands a payment identifier: extensions["payment-identifier"].info.id';
  if (id === null || isPaymentIdentifier(id)) return null;
  return 'extensions["payment-identifier"].info.id must be 16 to 128 letters, digits, - and _';
}

async function asked(
  { quoteSecrets, hints }: SaleDeps,
  { route, resource, requestHash }: Sale,
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
    expiresAt: Date.now() + QUOTE_MS,
  });
  const { headers, body } = paymentRequired(terms, resource, error, {
    quoteToken,
    hint: await hints.get(),
    identifier: route.paymentIdentifier,
    fields,
  });
  return json(402, body, headers);
}

/** How long a buyer may send and present a transaction after the quote. */
const QUOTE_MS = 30 * 60_000;
