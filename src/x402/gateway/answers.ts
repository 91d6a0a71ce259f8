import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { paidResponse } from '../formats/example.ts';
import { exactJson } from '../formats/json.ts';
import { EXPOSED_HEADERS } from '../formats/payment-required.ts';
import { paymentResponse, type SettleResult } from '../formats/payment-response.ts';
import { paidHeaders } from '../routes/headers.ts';
import { exampleError } from '../rules/example.ts';
import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Proof, Terms } from '../terms.ts';
import type { UpstreamResponse } from '../upstream.ts';
import type { OutcomeOf, SaleOutcome } from './sale.ts';

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Discards the unsent rest of the body. */
  readonly discard?: () => void;
}

/** Lets scripts of any origin read terms and responses. */
export const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

export function json(status: number, body: object, headers: GatewayAnswer['headers'] = {}): GatewayAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: exactJson(body),
  };
}

/** The presented payment, and how to ask for another one. */
export interface Presented {
  readonly dialect: Proof['dialect'];
  readonly network: Terms['network'];
  readonly askToPay: (error: string, fields?: object) => Promise<GatewayAnswer>;
  readonly explorerUrl: (signature: string) => string;
}

const RETRY = { 'retry-after': '2' };

export async function answerOutcome(outcome: SaleOutcome, presented: Presented): Promise<GatewayAnswer> {
  switch (outcome.kind) {
    case 'settling':
      return unpaid(presented, 'settlement_pending', outcome, RETRY);
    case 'owed':
      return owed(outcome, presented);
    case 'served':
      return served(outcome, presented);
    case 'refundable':
      return refundable(outcome, presented);
    case 'unmatched':
      return unmatched(outcome, presented);
    case 'void':
      return voided(outcome, presented);
    case 'duplicate': {
      const { signature, payment } = outcome;
      return unpaid(presented, 'duplicate_settlement', { signature, payer: payment.payer });
    }
    case 'conflict':
      return json(409, { error: outcome.message });
    case 'refused':
      return refused(outcome, presented);
    case 'cancelled':
      if (outcome.answer !== null) return passedOn(outcome.answer);
      return json(502, { error: `nothing was paid: ${outcome.reason}` });
    case 'untried': {
      // Source: docs/interface.md, Errors: simulation call itself fails.
      const body = { error: 'Failed to simulate transaction', details: outcome.reason };
      return json(isExample(presented) ? 402 : 503, body, RETRY);
    }
    case 'unavailable':
      return json(503, { error: outcome.reason }, RETRY);
  }
}

/** A 402 without terms: the buyer has paid, or may have, and must not pay again. */
function unpaid(
  presented: Presented,
  errorReason: string,
  { signature, payer }: { readonly signature: string | null; readonly payer: string | null },
  headers: GatewayAnswer['headers'] = {},
): GatewayAnswer {
  const details = { transaction: signature ?? '', ...(payer !== null && { payer }) };
  const body = { x402Version: presented.dialect === 'v2' ? 2 : 1, error: errorReason, ...details };
  return json(402, body, { ...headers, ...response(presented, { success: false, errorReason, ...details }) });
}

function owed({ reason, signature, payment }: OutcomeOf<'owed'>, presented: Presented): GatewayAnswer {
  const headers = { ...RETRY, ...settled(presented, payment, signature) };
  // Source: docs/interface.md, Errors: confirmed transaction cannot be fetched.
  if (reason === null)
    return json(402, { error: 'Could not fetch confirmed transaction', transaction: signature }, headers);
  const error = 'it is paid, and not served yet: send the same payment again';
  return json(502, { error, details: reason, transaction: signature }, headers);
}

function served({ answer, signature, payment }: OutcomeOf<'served'>, presented: Presented): GatewayAnswer {
  const headers = settled(presented, payment, signature);
  if (!isExample(presented) || answer.kind === 'large' || answer.status >= 300)
    return passedOn(answer, headers);
  const body = paidResponse(Buffer.from(answer.body, 'base64').toString('utf8'), {
    signature,
    amount: payment.received ?? BigInt(payment.terms.amount),
    tokenAccount: payment.terms.tokenAccount,
    explorerUrl: presented.explorerUrl(signature),
  });
  return json(200, body, { 'cache-control': 'private, no-store', ...headers });
}

function refundable(outcome: OutcomeOf<'refundable'>, presented: Presented): GatewayAnswer {
  const { answer, signature, payment, reason } = outcome;
  const headers = settled(presented, payment, signature);
  if (answer !== null) return passedOn(answer, headers);
  const details = 'the payment is recorded as refundable';
  return json(502, { error: reason, details, transaction: signature }, headers);
}

/** Source: docs/interface.md, Errors: received amount below price. */
function unmatched(outcome: OutcomeOf<'unmatched'>, presented: Presented): GatewayAnswer {
  const { signature, payment, received } = outcome;
  const error = `Received ${received}, expected ${payment.terms.amount}`;
  const body = { error, details: 'the payment is recorded as unmatched', transaction: signature };
  return json(402, body, settled(presented, payment, signature));
}

async function voided(
  { reason, message, signature, payer }: OutcomeOf<'void'>,
  presented: Presented,
): Promise<GatewayAnswer> {
  const failed = reason === 'payment_expired' ? 'Payment verification failed' : 'Transaction failed on-chain';
  const error = isExample(presented) ? failed : reasonIn(presented, reason);
  const answer = await presented.askToPay(error, { details: message });
  const result = { success: false, errorReason: reason, errorMessage: message, payer };
  return withHeaders(answer, response(presented, { ...result, transaction: signature ?? '' }));
}

async function refused(outcome: OutcomeOf<'refused'>, presented: Presented): Promise<GatewayAnswer> {
  const { reason, message, payer, logs } = outcome;
  const { error, details } = isExample(presented)
    ? exampleRefusal(outcome)
    : { error: reasonIn(presented, reason), details: message };
  const answer = await presented.askToPay(error, { details, ...(logs && { logs }) });
  const result = { success: false, errorReason: reason, errorMessage: message, transaction: '' };
  return withHeaders(answer, response(presented, { ...result, ...(payer !== null && { payer }) }));
}

/** Error and details of the interface. Source: docs/interface.md, Errors. */
function exampleRefusal({ reason, message }: OutcomeOf<'refused'>) {
  return reason.endsWith('transaction_simulation_failed')
    ? { error: 'Transaction simulation failed', details: message }
    : exampleError({ reason, message });
}

function isExample({ dialect }: Presented): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

function reasonIn({ dialect }: Presented, reason: string): string {
  return dialect === 'v1' ? reasonOfVersion1(reason) : reason;
}

function settled(presented: Presented, { payer, terms: { amount } }: PaymentRow, transaction: string) {
  return response(presented, { success: true, payer, transaction, amount });
}

function response({ dialect, network }: Presented, result: SettleResult) {
  return paymentResponse(dialect, result, network);
}

/** The upstream's response. Shared caches must not serve it to clients that have not paid. */
function passedOn(answer: UpstreamResponse, headers: GatewayAnswer['headers'] = {}): GatewayAnswer {
  const head = { status: answer.status, headers: { ...paidHeaders(answer.headers), ...headers } };
  return answer.kind === 'large'
    ? { ...head, body: answer.body, discard: answer.discard }
    : { ...head, body: Buffer.from(answer.body, 'base64') };
}

function withHeaders(answer: GatewayAnswer, headers: GatewayAnswer['headers']): GatewayAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
