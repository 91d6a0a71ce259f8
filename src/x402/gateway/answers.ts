import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { paidResponse } from '../formats/example.ts';
import { paymentResponseV1 } from '../formats/v1.ts';
import { paymentResponseV2, type SettleResult } from '../formats/v2.ts';
import { paidHeaders } from '../routes/headers.ts';
import { exampleError } from '../rules/example.ts';
import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Proof, Terms } from '../terms.ts';
import { type GatewayAnswer, json, withHeaders } from './answer.ts';
import type { Delivered, SaleOutcome } from './outcome.ts';

export interface Asked {
  readonly dialect: Proof['dialect'];
  readonly network: Terms['network'];
  readonly ask: (error: string, fields?: object) => Promise<GatewayAnswer>;
  readonly explorerUrl: (signature: string) => string;
}

const RETRY_AFTER = '2';

type Of<Kind extends SaleOutcome['kind']> = Extract<SaleOutcome, { kind: Kind }>;

export async function answerOutcome(outcome: SaleOutcome, asked: Asked): Promise<GatewayAnswer> {
  switch (outcome.kind) {
    case 'served':
      return served(outcome, asked);
    case 'refused':
      return refused(outcome, asked);
    case 'void':
      return voided(outcome, asked);
    case 'pending': {
      const { signature, payer } = outcome;
      const headers = { 'retry-after': RETRY_AFTER };
      return refusal(asked, 'settlement_pending', signature, payerOf(payer), headers);
    }
    case 'duplicate':
      return refusal(asked, 'duplicate_settlement', outcome.signature, payerOf(outcome.payment.payer));
    case 'owed':
      return owed(outcome, asked);
    case 'unread':
      return unread(outcome, asked);
    case 'short':
      return short(outcome, asked);
    case 'unservable':
      return unservable(outcome, asked);
    case 'conflict':
      return json(409, { error: outcome.message });
    case 'unsettled':
      if (outcome.answer !== null) return privately(passedOn(outcome.answer));
      return json(502, { error: `nothing was paid: ${outcome.reason}` });
    case 'untried':
      return untried(outcome, asked);
    case 'unavailable':
      return json(503, { error: outcome.reason }, { 'retry-after': RETRY_AFTER });
  }
}

async function refused(outcome: Of<'refused'>, asked: Asked): Promise<GatewayAnswer> {
  const { reason, message, payer, logs } = outcome;
  const { isExample, told } = textsOf(asked);
  const [error, fields] = isExample ? exampleRefusal(outcome) : [told(reason), { details: message }];
  const answer = await asked.ask(error, { ...fields, ...(logs === undefined ? {} : { logs }) });
  const result = { success: false, errorReason: reason, errorMessage: message, transaction: '' };
  return withHeaders(answer, response(asked, { ...result, ...payerOf(payer) }));
}

async function voided(
  { reason, message, signature, payer }: Of<'void'>,
  asked: Asked,
): Promise<GatewayAnswer> {
  const { isExample, told } = textsOf(asked);
  const failed = reason === 'payment_expired' ? 'Payment verification failed' : 'Transaction failed on-chain';
  const answer = await asked.ask(isExample ? failed : told(reason), { details: message });
  const result = { success: false, errorReason: reason, errorMessage: message, payer };
  return withHeaders(answer, response(asked, { ...result, transaction: signature ?? '' }));
}

function owed({ reason, signature, payment }: Of<'owed'>, asked: Asked): GatewayAnswer {
  const headers = response(asked, settled(signature, payment));
  const error = 'it is paid, and not served yet: show the same payment again';
  const body = { error, details: reason, transaction: signature };
  return json(502, body, { 'retry-after': RETRY_AFTER, ...headers });
}

/** Source: docs/interface.md, Errors: simulation call itself fails. */
function untried({ reason }: Of<'untried'>, asked: Asked): GatewayAnswer {
  const body = { error: 'Failed to simulate transaction', details: reason };
  return json(textsOf(asked).isExample ? 402 : 503, body, { 'retry-after': RETRY_AFTER });
}

/** Source: docs/interface.md, Errors: confirmed transaction cannot be fetched. */
function unread({ signature, payment }: Of<'unread'>, asked: Asked): GatewayAnswer {
  const headers = response(asked, settled(signature, payment));
  const body = { error: 'Could not fetch confirmed transaction', transaction: signature };
  return json(402, body, { 'retry-after': RETRY_AFTER, ...headers });
}

/** Source: docs/interface.md, Errors: received amount below price. */
function short({ signature, payment, received }: Of<'short'>, asked: Asked): GatewayAnswer {
  const error = `Received ${received}, expected ${payment.terms.amount}`;
  const body = { error, details: 'the payment is on record as unmatched', transaction: signature };
  return json(402, body, response(asked, settled(signature, payment)));
}

function textsOf({ dialect }: Asked) {
  const isExample = dialect === 'example' || dialect === 'submitted';
  const told = (reason: string) => (dialect === 'v1' ? reasonOfVersion1(reason) : reason);
  return { isExample, told };
}

/** Error and details of the interface. Source: docs/interface.md, Errors. */
function exampleRefusal({ reason, message }: Of<'refused'>): [string, object] {
  if (reason.endsWith('transaction_simulation_failed'))
    return ['Transaction simulation failed', { details: message }];
  const { error, details } = exampleError({ reason, message });
  return [error, { details }];
}

function served({ answer, signature, payment }: Of<'served'>, asked: Asked): GatewayAnswer {
  const headers = response(asked, settled(signature, payment));
  const isWrapped = textsOf(asked).isExample && answer.kind === 'whole' && answer.answer.status < 300;
  if (!isWrapped) return withHeaders(privately(passedOn(answer)), headers);
  const body = paidResponse(Buffer.from(answer.answer.body, 'base64').toString('utf8'), {
    signature,
    amount: payment.received ?? BigInt(payment.terms.amount),
    tokenAccount: payment.terms.tokenAccount,
    explorerUrl: asked.explorerUrl(signature),
  });
  return json(200, body, { 'cache-control': 'private, no-store', ...headers });
}

function unservable({ answer, signature, payment, reason }: Of<'unservable'>, asked: Asked): GatewayAnswer {
  const headers = signature === null ? {} : response(asked, settled(signature, payment));
  if (answer !== null) return withHeaders(privately(passedOn(answer)), headers);
  const details = 'the payment is on record as refundable';
  const body = { error: reason, details, ...(signature === null ? {} : { transaction: signature }) };
  return json(502, body, headers);
}

/** A 402 without terms: the buyer has paid, or may have, and must not pay again. */
function refusal(
  asked: Asked,
  errorReason: string,
  signature: string | null,
  payer: { readonly payer?: string },
  headers: GatewayAnswer['headers'] = {},
): GatewayAnswer {
  const transaction = signature ?? '';
  const body = { x402Version: asked.dialect === 'v2' ? 2 : 1, error: errorReason, transaction, ...payer };
  const result = { success: false, errorReason, transaction, ...payer };
  return json(402, body, { ...headers, ...response(asked, result) });
}

function settled(transaction: string, { payer, terms: { amount } }: PaymentRow): SettleResult {
  return { success: true, payer, transaction, amount };
}

function response({ dialect, network }: Asked, result: SettleResult): Record<string, string> {
  return dialect === 'v2'
    ? { 'payment-response': paymentResponseV2(result, network) }
    : { 'x-payment-response': paymentResponseV1(withReasonOfVersion1(result), network) };
}

function withReasonOfVersion1(result: SettleResult): SettleResult {
  const { errorReason } = result;
  return errorReason === undefined ? result : { ...result, errorReason: reasonOfVersion1(errorReason) };
}

function payerOf(payer: string | null): { readonly payer?: string } {
  return payer === null ? {} : { payer };
}

function passedOn(answer: Delivered): GatewayAnswer {
  if (answer.kind === 'large') {
    const { status, headers, body, discard } = answer;
    return { status, headers, body, discard };
  }
  const { status, headers, body } = answer.answer;
  return { status, headers, body: Buffer.from(body, 'base64') };
}

/** Prevents shared caches from serving it to clients that have not paid. */
function privately(answer: GatewayAnswer): GatewayAnswer {
  return { ...answer, headers: paidHeaders(answer.headers) };
}
