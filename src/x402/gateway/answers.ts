import { isUtf8 } from 'node:buffer';
import { paidResponse } from '../formats/example.ts';
import { exactJson } from '../formats/json.ts';
import { EXPOSED_HEADERS } from '../formats/payment-required.ts';
import { paymentResponse, type SettleResult } from '../formats/payment-response.ts';
import type { IssuedPass } from '../passes/passes.ts';
import { PASS_HEADER } from '../passes/presented.ts';
import { paidResponseHeaders } from '../routes/headers.ts';
import { exampleError } from '../rules/example.ts';
import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Proof, Terms } from '../terms.ts';
import type { UpstreamResponse } from '../upstream.ts';
import type { OutcomeOf, SaleOutcome, SoldPayment } from './sale.ts';

/** What an answer is, for the metrics: the outcome of a presented payment, or why none was looked at. */
export type AnswerKind =
  | SaleOutcome['kind']
  /** 402 with terms, to a request without a payment. */
  | 'asked'
  /** The response of the upstream, to an access pass or a sign-in. */
  | 'access_pass'
  /** 429: the client has presented too many payments. */
  | 'limited'
  /** 503: the route is not sold now. */
  | 'closed'
  /** An unexpected error, such as a database that does not answer. */
  | 'failed'
  /** A free route. */
  | 'free'
  /** No route has this path and method, or the route is no longer sold. */
  | 'not_found';

export interface AnswerLabel {
  readonly outcome: AnswerKind;
  /** Code of a refusal. */
  readonly reason: string | null;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Closes the upstream connection of an unread streamed body. */
  readonly discard?: () => void;
  /** Called when the last byte is sent. */
  readonly onSent?: () => void;
}

export type LabelledAnswer = GatewayAnswer & { readonly label: AnswerLabel };

export function labelled(
  answer: GatewayAnswer,
  outcome: AnswerKind,
  reason: string | null = null,
): LabelledAnswer {
  return { ...answer, label: { outcome, reason } };
}

/** CORS headers that let scripts of any origin read terms and responses. */
export const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

export function jsonAnswer(
  status: number,
  body: object,
  headers: GatewayAnswer['headers'] = {},
): GatewayAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: exactJson(body),
  };
}

/** The dialect of the presented payment, and what a response to it needs. */
export interface PresentedProof {
  readonly dialect: Proof['dialect'];
  readonly network: Terms['network'];
  readonly askToPay: (error: string, fields?: object) => Promise<GatewayAnswer>;
  readonly explorerUrl: (signature: string) => string;
  /** The access pass that the outcome `served` includes. Null if there is none. */
  readonly accessPass: IssuedPass | null;
}

const RETRY = { 'retry-after': '2' };

export async function answerOutcome(outcome: SaleOutcome, presented: PresentedProof): Promise<GatewayAnswer> {
  switch (outcome.kind) {
    case 'settling':
      return answerWithoutTerms(presented, 'settlement_pending', outcome, RETRY);
    case 'owed':
      return answerOwed(outcome, presented);
    case 'served':
      return answerServed(outcome, presented);
    case 'refundable':
      return answerRefundable(outcome, presented);
    case 'unmatched':
      return answerUnmatched(outcome, presented);
    case 'void':
      return answerVoid(outcome, presented);
    case 'duplicate': {
      const { signature, payment } = outcome;
      return answerWithoutTerms(presented, 'duplicate_settlement', { signature, payer: payment.payer });
    }
    case 'conflict':
      return jsonAnswer(409, { error: outcome.message });
    case 'refused':
      return answerRefused(outcome, presented);
    case 'cancelled':
      if (outcome.answer !== null) return forwardedAnswer(outcome.answer);
      return jsonAnswer(502, { error: `nothing was paid: ${outcome.reason}` });
    case 'untried': {
      // Source: docs/interface.md, Errors: simulation call itself fails.
      const body = { error: 'Failed to simulate transaction', details: outcome.reason };
      return jsonAnswer(isExample(presented) ? 402 : 503, body, RETRY);
    }
    case 'unavailable':
      return jsonAnswer(503, { error: outcome.reason }, RETRY);
  }
}

/** A 402 without terms, because the buyer has paid or may have paid, and must not pay again. */
function answerWithoutTerms(
  presented: PresentedProof,
  errorReason: string,
  { signature, payer }: { readonly signature: string | null; readonly payer: string | null },
  headers: GatewayAnswer['headers'] = {},
): GatewayAnswer {
  const details = { transaction: signature ?? '', ...(payer !== null && { payer }) };
  const body = { x402Version: presented.dialect === 'v2' ? 2 : 1, error: errorReason, ...details };
  return jsonAnswer(402, body, {
    ...headers,
    ...resultHeaders(presented, { success: false, errorReason, ...details }),
  });
}

function answerOwed(
  { reason, signature, payment, retryAfter }: OutcomeOf<'owed'>,
  presented: PresentedProof,
): GatewayAnswer {
  const retry = retryAfter === null ? RETRY : { 'retry-after': retryAfter };
  const headers = { ...retry, ...successHeaders(presented, payment, signature) };
  // Source: docs/interface.md, Errors: confirmed transaction cannot be fetched.
  if (reason === null)
    return jsonAnswer(
      402,
      { error: 'Could not fetch confirmed transaction', transaction: signature },
      headers,
    );
  const error = 'the request is paid but not served yet: send it again with the same payment';
  return jsonAnswer(502, { error, details: reason, transaction: signature }, headers);
}

function answerServed(
  { answer, signature, payment }: OutcomeOf<'served'>,
  presented: PresentedProof,
): GatewayAnswer {
  const { accessPass } = presented;
  const headers = { ...successHeaders(presented, payment, signature), ...passHeaders(accessPass) };
  const text = isExample(presented) ? plainTextOf(answer) : null;
  if (text === null) return forwardedAnswer(answer, headers);
  const body = paidResponse(text, {
    signature,
    amount: payment.received ?? BigInt(payment.terms.amount),
    tokenAccount: payment.terms.tokenAccount,
    explorerUrl: presented.explorerUrl(signature),
    accessPass,
  });
  return jsonAnswer(200, body, { 'cache-control': 'private, no-store', ...headers });
}

/** The text of a response, which the interface's paid response can contain; null where the bytes must stay as they are. */
function plainTextOf(answer: UpstreamResponse): string | null {
  if (answer.kind === 'streamed' || answer.status >= 300) return null;
  const bytes = Buffer.from(answer.body, 'base64');
  return answer.headers['content-encoding'] === undefined && isUtf8(bytes) ? bytes.toString('utf8') : null;
}

function answerRefundable(outcome: OutcomeOf<'refundable'>, presented: PresentedProof): GatewayAnswer {
  const { answer, signature, payment, reason } = outcome;
  const headers = successHeaders(presented, payment, signature);
  if (answer !== null) return forwardedAnswer(answer, headers);
  const details = `the payment is recorded as ${payment.state === 'unmatched' ? 'unmatched' : 'refundable'}`;
  return jsonAnswer(502, { error: reason, details, transaction: signature }, headers);
}

/** Without terms, because the buyer has paid. Source: docs/interface.md, Errors: received amount below price. */
function answerUnmatched(outcome: OutcomeOf<'unmatched'>, presented: PresentedProof): GatewayAnswer {
  const { signature, payment, received, refusal } = outcome;
  if (refusal !== null) {
    const { reason: errorReason, message: errorMessage } = refusal;
    const result = {
      success: false,
      errorReason,
      errorMessage,
      payer: payment.payer,
      transaction: signature,
    };
    const body = { ...exampleError(refusal), transaction: signature };
    return jsonAnswer(402, body, resultHeaders(presented, result));
  }
  const error = `Received ${received}, expected ${payment.terms.amount}`;
  const body = { error, details: 'the payment is recorded as unmatched', transaction: signature };
  return jsonAnswer(402, body, successHeaders(presented, payment, signature));
}

async function answerVoid(
  { status, reason, message, signature, payer }: OutcomeOf<'void'>,
  presented: PresentedProof,
): Promise<GatewayAnswer> {
  // Source: docs/interface.md, Errors: transaction fails on-chain.
  const exampleText = status === 'failed' ? 'Transaction failed on-chain' : 'Payment verification failed';
  const error = isExample(presented) ? exampleText : reasonIn(presented, reason);
  const answer = await presented.askToPay(error, { details: message });
  const result = { success: false, errorReason: reason, errorMessage: message };
  const details = { transaction: signature ?? '', ...(payer !== null && { payer }) };
  return withHeaders(answer, resultHeaders(presented, { ...result, ...details }));
}

async function answerRefused(
  outcome: OutcomeOf<'refused'>,
  presented: PresentedProof,
): Promise<GatewayAnswer> {
  const { reason, message, payer, logs } = outcome;
  const { error, details } = isExample(presented)
    ? exampleRefusal(outcome)
    : { error: reasonIn(presented, reason), details: message };
  const answer = await presented.askToPay(error, { details, ...(logs && { logs }) });
  const result = { success: false, errorReason: reason, errorMessage: message, transaction: '' };
  return withHeaders(answer, resultHeaders(presented, { ...result, ...(payer !== null && { payer }) }));
}

/** Error and details in the interface's dialects. Source: docs/interface.md, Errors. */
function exampleRefusal({ reason, message }: OutcomeOf<'refused'>) {
  return reason.endsWith('transaction_simulation_failed')
    ? { error: 'Transaction simulation failed', details: message }
    : exampleError({ reason, message });
}

function isExample({ dialect }: PresentedProof): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

function reasonIn({ dialect }: PresentedProof, reason: string): string {
  return dialect === 'v1' ? reasonOfVersion1(reason) : reason;
}

function successHeaders(
  presented: PresentedProof,
  { payer, terms: { amount } }: SoldPayment,
  transaction: string,
) {
  return resultHeaders(presented, { success: true, payer, transaction, amount });
}

function resultHeaders({ dialect, network }: PresentedProof, result: SettleResult) {
  return paymentResponse(dialect, result, network);
}

/** The resource for the holder of an access pass. `issued`: the pass, for a wallet that signed in. */
export function answerByPass(answer: UpstreamResponse, issued: IssuedPass | null): GatewayAnswer {
  return forwardedAnswer(answer, passHeaders(issued));
}

function passHeaders(accessPass: IssuedPass | null): Record<string, string> {
  return accessPass === null ? {} : { [PASS_HEADER]: accessPass.token };
}

/** The request is not looked at: the client can send it again. */
export function tooManyPayments(seconds: number): LabelledAnswer {
  const error = `too many requests of one client address: send the same request again in ${seconds} s`;
  return labelled(jsonAnswer(429, { error }, { 'retry-after': String(seconds) }), 'limited');
}

/** The upstream's response. Shared caches must not serve it to clients that have not paid. */
function forwardedAnswer(answer: UpstreamResponse, headers: GatewayAnswer['headers'] = {}): GatewayAnswer {
  const head = { status: answer.status, headers: { ...paidResponseHeaders(answer.headers), ...headers } };
  return answer.kind === 'streamed'
    ? { ...head, body: answer.body, discard: answer.discard }
    : { ...head, body: Buffer.from(answer.body, 'base64') };
}

function withHeaders(answer: GatewayAnswer, headers: GatewayAnswer['headers']): GatewayAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
