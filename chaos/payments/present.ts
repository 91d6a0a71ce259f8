import { type PaymentHeaders, paymentSignature, type SellerTerms } from '../../devkit/localstack/buyer.ts';
import { PASS_HEADER } from '../../src/x402/passes/presented.ts';
import type { PlannedPurchase } from './plan.ts';
import { type BuyerReaction, reactionTo, reactionToSettle } from './reaction.ts';
import { bodyOf, methodOf } from './upstream.ts';

/** A payment that its buyer has signed. */
export interface SignedPurchase {
  readonly headers: PaymentHeaders;
  readonly terms: SellerTerms;
}

/** The result of presenting a payment once. */
export interface Presented {
  readonly reaction: BuyerReaction;
  /** The answer, or the failure, for people. */
  readonly text: string;
  /** The access pass in the answer; null if it has none. */
  readonly pass: string | null;
  /** Successes of the facilitator, each of which permits the seller to deliver the item. */
  readonly successes: number;
}

/** Presents a payment to the gateway; or as a seller to the facilitator. */
export function present(
  gatewayUrl: string,
  purchase: PlannedPurchase,
  payment: SignedPurchase,
  signal: AbortSignal,
): Promise<Presented> {
  return purchase.flow === 'facilitator'
    ? presentToFacilitator(gatewayUrl, purchase, payment, signal)
    : presentToGateway(gatewayUrl, purchase, payment, signal);
}

/** The request for an item, without a payment. */
export function requestOf(
  gatewayUrl: string,
  { flow, subject, authorized, item }: PlannedPurchase,
): readonly [
  url: string,
  init: { readonly method: string; readonly body?: string; headers: PaymentHeaders },
] {
  const method = methodOf(flow);
  const body = bodyOf(flow, subject);
  const headers = authorized ? { authorization: `Bearer credentials-of-buyer-${item}` } : {};
  const path = flow === 'facilitator' ? 'get' : flow;
  return [`${gatewayUrl}/${path}?n=${subject}`, { method, headers, ...(body === '' ? {} : { body }) }];
}

async function presentToGateway(
  gatewayUrl: string,
  purchase: PlannedPurchase,
  { headers }: SignedPurchase,
  signal: AbortSignal,
): Promise<Presented> {
  const [url, init] = requestOf(gatewayUrl, purchase);
  try {
    const response = await fetch(url, { ...init, headers: { ...init.headers, ...headers }, signal });
    const { status } = response;
    const body = await response.text();
    const pass = response.headers.get(PASS_HEADER);
    const reaction: BuyerReaction =
      pass !== null && status !== 200
        ? { kind: 'wrong', reason: `an answer with status ${status} has an access pass` }
        : reactionTo(status, body, purchase.subject, paymentSignature(response));
    return { reaction, pass, text: `${status} ${body.slice(0, 200)}`, successes: 0 };
  } catch (error) {
    return { reaction: { kind: 'undecided' }, pass: null, text: String(error), successes: 0 };
  }
}

/** Without an Idempotency-Key, two callers present the payment at once: one of them may get the success. */
async function presentToFacilitator(
  gatewayUrl: string,
  { identified, item }: PlannedPurchase,
  payment: SignedPurchase,
  signal: AbortSignal,
): Promise<Presented> {
  const key: PaymentHeaders = identified ? { 'idempotency-key': `sale-${item}` } : {};
  const settle = () => settleOnce(gatewayUrl, payment, key, signal);
  const answers = await Promise.all(identified ? [settle()] : [settle(), settle()]);
  const successes = answers.filter(({ reaction }) => reaction.kind === 'answered').length;
  const [best = answers[0]] = BY_RANK.flatMap((kind) =>
    answers.filter(({ reaction }) => reaction.kind === kind),
  );
  return { ...(best ?? { reaction: { kind: 'undecided' }, text: 'no answer' }), pass: null, successes };
}

/** Of two answers, the seller follows the one whose kind is first here. */
const BY_RANK = ['answered', 'wrong', 'undecided', 'refused', 'pay-again'] as const;

async function settleOnce(
  gatewayUrl: string,
  { headers, terms }: SignedPurchase,
  key: PaymentHeaders,
  signal: AbortSignal,
): Promise<Pick<Presented, 'reaction' | 'text'>> {
  const paymentPayload = paymentOf(headers);
  const isFirstVersion = paymentPayload['x402Version'] === 1;
  const paymentRequirements = isFirstVersion ? terms.v1[0] : terms.v2.accepts[0];
  const { x402Version } = paymentPayload;
  try {
    const response = await fetch(`${gatewayUrl}/facilitator/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
      body: JSON.stringify({ x402Version, paymentPayload, paymentRequirements }),
      signal,
    });
    const body = await response.text();
    return {
      reaction: reactionToSettle(response.status, body),
      text: `${response.status} ${body.slice(0, 200)}`,
    };
  } catch (error) {
    return { reaction: { kind: 'undecided' }, text: String(error) };
  }
}

/** The headers of a payment of version 2 without its payment identifier; other headers unchanged. */
export function withoutIdentifier(headers: PaymentHeaders): PaymentHeaders {
  if (headers['payment-signature'] === undefined) return headers;
  const { extensions: _extensions, ...payment } = paymentOf(headers);
  return { 'payment-signature': Buffer.from(JSON.stringify(payment), 'utf8').toString('base64') };
}

/** The JSON in the header of a payment. */
function paymentOf(headers: PaymentHeaders): Readonly<Record<string, unknown>> {
  const [header = ''] = Object.values(headers);
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Readonly<Record<string, unknown>>;
}
