import { setTimeout as sleep } from 'node:timers/promises';
import { serveOwed } from '../obligation.ts';
import { signatureOf, voidReason } from '../purchase.ts';
import { receivedOf } from '../received.ts';
import type { PricedRoute } from '../routes/route.ts';
import { priceIn } from '../routes/route.ts';
import { isConfirmedByQuorum, needsSecondNode } from '../second-node.ts';
import {
  discardAnswer,
  forwardableRefusal,
  reasonOf,
  retryAfterOf,
  type UpstreamOptions,
  type UpstreamResponse,
  verdictOf,
} from '../upstream.ts';
import type { Sale, SaleDeps, SaleOutcome, SoldPayment } from './sale.ts';

export const POLL_MS = 100;
/** Larger responses are streamed and not stored. */
const MAX_ANSWER_BYTES = 1024 * 1024;

export function upstreamOptionsOf({ timeoutSeconds, maxAnswerBytes, stream }: PricedRoute): UpstreamOptions {
  const maxBytes = maxAnswerBytes ?? MAX_ANSWER_BYTES;
  return { timeoutMs: timeoutSeconds * 1000, maxBytes, isStreamed: stream };
}

export async function voidOutcome({ ledger }: SaleDeps, payment: SoldPayment): Promise<SaleOutcome> {
  const cause = await voidReason(ledger, payment.id);
  return { kind: 'void', ...cause, signature: await signatureOf(ledger, payment), payer: payment.payer };
}

export async function settlingOutcome({ ledger }: SaleDeps, payment: SoldPayment): Promise<SaleOutcome> {
  return { kind: 'settling', signature: await signatureOf(ledger, payment), payer: payment.payer };
}

/**
 * Serves a settled payment from the upstream or the database. `holder` identifies the owner of the lease; `isLeased`: it
 * has the lease already, from the request that opened the payment.
 */
export async function deliver(
  deps: SaleDeps,
  sale: Sale,
  payment: SoldPayment,
  signature: string,
  holder: string,
  isLeased = false,
): Promise<SaleOutcome> {
  const paid = { payment, signature };
  const reason = payment.reason ?? 'the payment cannot be served';
  switch (payment.state) {
    case 'owed':
      return serveOnce(deps, sale, payment, signature, { holder, isLeased });
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
  payment: SoldPayment,
  signature: string,
  { holder, isLeased }: { readonly holder: string; readonly isLeased: boolean },
): Promise<SaleOutcome> {
  const limit = priceIn(sale.route, payment.terms.asset)?.confirmedByTwoAbove ?? null;
  const byQuorum = needsSecondNode(deps.chain.pool, limit, payment);
  if (byQuorum && !(await isConfirmedByQuorum(deps, payment.id, signature, deps.answerWithinMs)))
    return { kind: 'settling', signature, payer: payment.payer };
  const tooLittle = isComposedByBuyer(payment) ? await shortfall(deps, payment, signature, byQuorum) : null;
  if (tooLittle !== null) return tooLittle;
  const { upstream, ledger } = deps;
  const bounds = upstreamOptionsOf(sale.route);
  // The wait for a second node can use up the lease.
  const leased = isLeased && !byQuorum && sale.request?.isRepeatable ? sale.request : undefined;
  const result = await serveOwed(
    { obligations: ledger.obligations, upstream, holder, leased, bounds, canDeliver: true },
    payment,
  );
  if (result.kind === 'taken') return awaitOtherRequest(deps, sale, payment, signature);
  if (result.kind !== 'served') return { ...result, payment, signature };
  const { answer } = result;
  if (answer === null) return serveAgain(deps, sale, payment, signature);
  return { kind: 'served', payment, signature, answer: withStoredEnd(deps, payment, answer) };
}

/** The answer. The end of its delivery is stored, because a buyer may repeat the request for some time after it. */
function withStoredEnd(
  { ledger, warn }: SaleDeps,
  { id }: Pick<SoldPayment, 'id'>,
  answer: UpstreamResponse,
): UpstreamResponse {
  if (answer.kind !== 'streamed') return answer;
  const discard = () => {
    answer.discard();
    ledger.obligations
      .noteDelivered(id)
      .catch((error: unknown) => warn(error, `the end of the delivery of payment ${id} was not stored`));
  };
  return { ...answer, discard };
}

/** Waits for the request that holds the lease, so that only one of several concurrent requests calls the upstream. */
async function awaitOtherRequest(
  deps: SaleDeps,
  sale: Sale,
  { id }: Pick<SoldPayment, 'id'>,
  signature: string,
): Promise<SaleOutcome> {
  const end = performance.now() + deps.answerWithinMs;
  for (;;) {
    const payment = await deps.ledger.payments.get(id);
    if (payment.state !== 'owed') return deliver(deps, sale, payment, signature, '');
    const reason = 'another request with this payment is in progress';
    if (performance.now() > end) return { kind: 'owed', payment, signature, reason, retryAfter: null };
    await sleep(POLL_MS);
  }
}

/** Returns the stored response. If the response was not stored, calls the upstream again, for a few times. */
async function serveAgain(
  deps: SaleDeps,
  { request, route }: Sale,
  payment: SoldPayment,
  signature: string,
): Promise<SaleOutcome> {
  const { upstream } = deps;
  const { obligations } = deps.ledger;
  const stored = await obligations.answerOf(payment.id);
  if (stored !== null) return { kind: 'served', payment, signature, answer: { kind: 'whole', ...stored } };
  if (request?.isRepeatable !== true || !(await obligations.takeRepeat(payment.id)))
    return { kind: 'duplicate', payment, signature };
  const answer = await upstream({ request, payment, isPaid: true }, upstreamOptionsOf(route));
  const shown =
    answer.kind === 'none' || verdictOf(answer.status) === 'owed' ? null : forwardableRefusal(answer);
  if (shown === null) {
    if (answer.kind !== 'none') discardAnswer(answer);
    await obligations.returnRepeat(payment.id);
    const retryAfter = retryAfterOf(answer);
    return { kind: 'owed', payment, signature, reason: reasonOf(answer), retryAfter };
  }
  return { kind: 'served', payment, signature, answer: withStoredEnd(deps, payment, shown) };
}

/** True if the buyer composed the whole transaction, which may then do more than pay. */
function isComposedByBuyer({ dialect }: Pick<SoldPayment, 'dialect'>): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

/**
 * The outcome if too little was received, or if no node returns the amount; otherwise null. Source: docs/interface.md,
 * Payment-protected endpoint 5 and 6.
 */
async function shortfall(
  { chain, ledger }: SaleDeps,
  payment: SoldPayment,
  signature: string,
  byQuorum: boolean,
): Promise<SaleOutcome | null> {
  const { amount } = payment.terms;
  const received = await receivedOf(chain.pool, signature, payment, byQuorum);
  if (received === null) return { kind: 'owed', payment, signature, reason: null, retryAfter: null };
  if (received >= BigInt(amount)) return null;
  await ledger.obligations.markShort(payment.id, received, `Received ${received}, expected ${amount}`);
  return { kind: 'unmatched', payment, signature, received, refusal: null };
}
