import { paymentId } from '../../domain/payment.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { messageHashOf } from '../../solana/tx/message.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { paymentRequired } from '../formats/payment-required.ts';
import { identifierOf, issueQuoteToken, readQuoteToken } from '../formats/quote-token.ts';
import { echoesExtensions, isPaymentIdentifier, readPayment } from '../formats/read-payment.ts';
import type { Proof, Terms } from '../terms.ts';
import { answerOutcome, type GatewayAnswer, json } from './answers.ts';
import { buy, buyAgain, buyNothing } from './buy.ts';
import { checkProof } from './check-proof.ts';
import type { Sale, SaleDeps, SaleOutcome } from './sale.ts';

const RETRY_AFTER = '10';
/** How long a buyer may send and present a transaction after the quote. */
const QUOTE_MS = 30 * 60_000;

/** Responds to a request for a priced route: with its terms, or with what the presented payment buys. */
export async function sell(deps: SaleDeps, sale: Sale): Promise<GatewayAnswer> {
  const presented = readPayment(sale.headers);
  const offer = deps.offers.of(sale.route.id);
  const askToPay = async (error: string, fields: object = {}) =>
    offer.kind === 'open' ? terms402(deps, sale, offer.current, error, fields) : closed(offer.reason);
  if (presented.kind === 'none') return askToPay('X-PAYMENT header is required');
  if (presented.kind === 'undecodable')
    return presented.header === 'X-PAYMENT'
      ? askToPay('Payment verification failed', { details: presented.reason })
      : askToPay(`PAYMENT-SIGNATURE cannot be read: ${presented.reason}`);
  const { proof } = presented;
  const { network, explorerUrl } = deps;
  const answer = async (outcome: SaleOutcome) =>
    answerOutcome(outcome, { dialect: proof.dialect, network, askToPay, explorerUrl });
  const known = await knownPayment(deps, proof);
  if (known !== undefined) {
    const caller = { ...sale.caller, identifier: identifierIn(deps, sale, proof) };
    return answer(await buyAgain(deps, { ...sale, caller }, known));
  }
  if (offer.kind === 'closed') return closed(offer.reason);
  const fault = identifierFault(sale, proof);
  if (fault !== null) return json(400, { error: fault });
  if (proof.dialect === 'v2' && !echoesExtensions(proof.extensions, sale.route.paymentIdentifier))
    return askToPay('extension_echo_mismatch');
  const checked = await checkProof(deps, sale, offer.valid, proof);
  if (checked.kind !== 'checked') return answer(checked);
  const { order, flaw } = checked;
  return answer(await (flaw === null ? buy(deps, order) : buyNothing(deps, order, flaw)));
}

function closed(reason: string): GatewayAnswer {
  return json(503, { error: `nothing is sold here now: ${reason}` }, { 'retry-after': RETRY_AFTER });
}

/**
 * The recorded payment of a proof, judged by no newer terms. Undefined also if it is bound to no settlement: it was on
 * chain before it was presented, so the presenter may not be its buyer.
 */
async function knownPayment(deps: SaleDeps, proof: Proof): Promise<PaymentRow | undefined> {
  const payment = await (proof.dialect === 'submitted'
    ? deps.ledger.payments.findByName(proof.signature)
    : paymentOfWire(deps, proof.wire));
  return payment?.state === 'unmatched' && payment.received === null ? undefined : payment;
}

async function paymentOfWire({ ledger, network }: SaleDeps, wire: Uint8Array) {
  const signed = readSigned(wire);
  return signed === null
    ? undefined
    : ledger.payments.find(paymentId(network.caip2, messageHashOf(signed.message)));
}

/** The identifier that only the buyer of a recorded payment knows. */
function identifierIn({ quoteSecrets }: SaleDeps, { route, requestHash }: Sale, proof: Proof): string | null {
  if (proof.dialect === 'v2') return proof.paymentIdentifier;
  if (proof.dialect !== 'submitted') return null;
  // Expired tokens count too: only the buyer has the token.
  const quoted = readQuoteToken(quoteSecrets, proof.quoteToken, 0);
  const isOfSale = quoted?.route === route.id && quoted.request === requestHash;
  return isOfSale ? identifierOf(proof.quoteToken) : null;
}

/** Error (400) for a payment identifier that is required but missing, or malformed. */
function identifierFault({ route }: Sale, proof: Proof): string | null {
  const id = proof.dialect === 'v2' ? proof.paymentIdentifier : null;
  if (route.paymentIdentifier === 'required' && id === null)
    return 'this route demands a payment identifier: extensions["payment-identifier"].info.id';
  if (id === null || isPaymentIdentifier(id)) return null;
  return 'extensions["payment-identifier"].info.id must be 16 to 128 letters, digits, - and _';
}

async function terms402(
  { quoteSecrets, chain }: SaleDeps,
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
  // Shared by all requests of a short time. Without an answer of a node, buyers fetch a blockhash themselves.
  const hint = await chain.latestBlockhash().catch(() => null);
  const more = { quoteToken, hint, identifier: route.paymentIdentifier, fields };
  const { headers, body } = paymentRequired(terms, resource, error, more);
  return json(402, body, headers);
}
