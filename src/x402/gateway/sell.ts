import { paymentRequired } from '../dialects/payment-required.ts';
import { issueQuoteToken } from '../dialects/quote-token.ts';
import { readPayment } from '../dialects/read-payment.ts';
import { isPaymentIdentifier } from '../dialects/v2.ts';
import type { Proof, Terms } from '../terms.ts';
import { type GatewayAnswer, json } from './answer.ts';
import { answerOutcome } from './answers.ts';
import { checkProof } from './check-proof.ts';
import type { Outcome } from './outcome.ts';
import { buy } from './purchase.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** For the next try, in seconds, where a route cannot be sold now. */
const RETRY_AFTER = '10';

/** Answers a request for a route that is sold: with its terms, or with what the payment that it shows has bought. */
export async function sell(deps: SaleDeps, sale: Sale): Promise<GatewayAnswer> {
  const offer = deps.offers.of(sale.route.id);
  if (offer.kind === 'closed')
    return json(503, { error: `nothing is sold here now: ${offer.why}` }, { 'retry-after': RETRY_AFTER });
  const { current } = offer;
  const ask = (error: string, fields: object = {}) => asked(deps, sale, current, error, fields);
  const shown = readPayment(sale.headers);
  if (shown.kind === 'none') return ask('X-PAYMENT header is required');
  if (shown.kind === 'undecodable')
    return shown.header === 'X-PAYMENT'
      ? ask('Payment verification failed', { details: shown.why })
      : ask(`PAYMENT-SIGNATURE cannot be read: ${shown.why}`);
  const fault = identifierFault(sale, shown.proof);
  if (fault !== null) return json(400, { error: fault });
  const outcome = await outcomeOf(deps, sale, offer.valid, shown.proof);
  return answerOutcome(outcome, {
    dialect: shown.proof.dialect,
    terms: current,
    ask,
    explorerUrl: deps.explorerUrl,
  });
}

async function outcomeOf(
  deps: SaleDeps,
  sale: Sale,
  valid: readonly Terms[],
  proof: Proof,
): Promise<Outcome> {
  const checked = await checkProof(deps, sale, valid, proof);
  if (checked.kind !== 'checked') return checked;
  const { route, requestHash, request, caller } = sale;
  const { payment, terms, wire, shownIn, identifier } = checked;
  return buy(deps, {
    route,
    requestHash,
    request,
    caller: { ...caller, identifier },
    dialect: proof.dialect,
    wire,
    shownIn,
    payment,
    terms,
  });
}

/** The extension payment-identifier: 400 where it is demanded and missing, or has another form. */
function identifierFault({ route }: Sale, proof: Proof): string | null {
  const id = proof.dialect === 'v2' ? proof.paymentIdentifier : null;
  if (route.paymentIdentifier === 'required' && id === null)
    return 'this route demands a payment identifier: extensions["payment-identifier"].info.id';
  if (id === null || isPaymentIdentifier(id)) return null;
  return 'extensions["payment-identifier"].info.id must be 16 to 128 letters, digits, - and _';
}

/** A 402 with fresh terms. */
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

/** A buyer may send his transaction so long after he was asked, and show it after that. */
const QUOTE_MS = 30 * 60_000;
