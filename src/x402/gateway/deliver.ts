import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { serveOwed, upstreamRequest } from '../obligation.ts';
import { signatureOf, voidReason } from '../purchase.ts';
import { receivedOf } from '../received.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { UpstreamOptions } from '../upstream.ts';
import type { Sale, SaleDeps, SaleOutcome } from './sale.ts';
import { isConfirmedByQuorum, needsSecondNode } from './second-node.ts';

export const POLL_MS = 100;
const UPSTREAM_TIMEOUT_MS = 30_000;
/** Larger responses are streamed and not stored. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** After serving a response that was too large to store, requests within this time call the upstream again. */
const REPEAT_WINDOW_MS = 600_000;

export function upstreamOptionsOf({ maxAnswerBytes }: PricedRoute): UpstreamOptions {
  return { timeoutMs: UPSTREAM_TIMEOUT_MS, maxBytes: maxAnswerBytes ?? MAX_ANSWER_BYTES };
}

export async function voidOutcome({ ledger }: SaleDeps, payment: PaymentRow): Promise<SaleOutcome> {
  const cause = await voidReason(ledger, payment.id);
  return { kind: 'void', ...cause, signature: await signatureOf(ledger, payment), payer: payment.payer };
}

export async function settlingOutcome({ ledger }: SaleDeps, payment: PaymentRow): Promise<SaleOutcome> {
  return { kind: 'settling', signature: await signatureOf(ledger, payment), payer: payment.payer };
}

/** Serves a settled payment from the upstream or the database. `holder` identifies the owner of the lease. */
export async function deliver(
  deps: SaleDeps,
  sale: Sale,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  const paid = { payment, signature };
  const reason = payment.reason ?? 'the payment cannot be served';
  switch (payment.state) {
    case 'owed':
      return serveOnce(deps, sale, payment, signature, holder);
    case 'served':
      return serveAgain(deps, sale, payment, signature);
    case 'refundable': {
      const answer = await deps.ledger.obligations.answerOf(payment.id);
      return { kind: 'refundable', ...paid, reason, answer: answer && { kind: 'whole', ...answer } };
    }
    case 'unmatched':
      return { kind: 'refundable', ...paid, reason, answer: null };
    case 'settling':
      return { kind: 'settling', signature, payer: payment.payer };
    case 'void':
      return voidOutcome(deps, payment);
  }
}

async function serveOnce(
  deps: SaleDeps,
  sale: Sale,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  const byQuorum = needsSecondNode(deps.chain.pool, sale.route, payment);
  if (byQuorum && !(await isConfirmedByQuorum(deps, payment.id, signature)))
    return { kind: 'settling', signature, payer: payment.payer };
  const tooLittle = isComposedByBuyer(payment) ? await shortfall(deps, payment, signature, byQuorum) : null;
  if (tooLittle !== null) return tooLittle;
  const { upstream, ledger } = deps;
  const bounds = upstreamOptionsOf(sale.route);
  const result = await serveOwed({ obligations: ledger.obligations, upstream, holder, bounds }, payment);
  if (result.kind === 'taken') return awaitOtherRequest(deps, sale, payment, signature);
  if (result.kind !== 'served') return { ...result, payment, signature };
  const { answer } = result;
  if (answer === null) return serveAgain(deps, sale, payment, signature);
  return { kind: 'served', payment, signature, answer };
}

/** Waits for the request that holds the lease, so that only one of several concurrent requests calls the upstream. */
async function awaitOtherRequest(
  deps: SaleDeps,
  sale: Sale,
  { id }: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const end = performance.now() + deps.answerWithinMs;
  for (;;) {
    const payment = await deps.ledger.payments.get(id);
    if (payment.state !== 'owed') return deliver(deps, sale, payment, signature, '');
    const reason = 'another request with this payment is in progress';
    if (performance.now() > end) return { kind: 'owed', payment, signature, reason };
    await sleep(POLL_MS);
  }
}

/** Returns the stored response. If the response was too large to store, calls the upstream again. */
async function serveAgain(
  { ledger, upstream }: SaleDeps,
  { request, route }: Sale,
  payment: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const stored = await ledger.obligations.answerOf(payment.id);
  if (stored !== null) return { kind: 'served', payment, signature, answer: { kind: 'whole', ...stored } };
  const isOld = payment.servedAt !== null && Date.now() - payment.servedAt.getTime() > REPEAT_WINDOW_MS;
  if (request === null || !request.isRepeatable || isOld) return { kind: 'duplicate', payment, signature };
  const answer = await upstream(upstreamRequest(request, payment.id), upstreamOptionsOf(route));
  if (answer.kind === 'none') return { kind: 'owed', payment, signature, reason: answer.reason };
  const { status } = answer;
  if (status >= 500) return { kind: 'owed', payment, signature, reason: `the upstream returned ${status}` };
  return { kind: 'served', payment, signature, answer };
}

/** True if the buyer composed the whole transaction, which may then do more than pay. */
function isComposedByBuyer({ dialect }: PaymentRow): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

/**
 * The outcome if too little was received, or if no node returns the amount; otherwise null. Source: docs/interface.md,
 * Payment-protected endpoint 5 and 6.
 */
async function shortfall(
  { chain, ledger }: SaleDeps,
  payment: PaymentRow,
  signature: string,
  byQuorum: boolean,
): Promise<SaleOutcome | null> {
  const { amount } = payment.terms;
  const received = await receivedOf(chain.pool, signature, payment, byQuorum);
  if (received === null) return { kind: 'owed', payment, signature, reason: null };
  if (received >= BigInt(amount)) return null;
  await ledger.obligations.markShort(payment.id, received, `Received ${received}, expected ${amount}`);
  return { kind: 'unmatched', payment, signature, received, refusal: null };
}
