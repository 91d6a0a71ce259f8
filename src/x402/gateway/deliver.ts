import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { serveOwed, upstreamRequest } from '../obligation.ts';
import { signatureOf, voidReason } from '../purchase.ts';
import { receivedOf } from '../received.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { UpstreamOptions } from '../upstream.ts';
import type { Sale, SaleDeps, SaleOutcome } from './sale.ts';

export const LOOK_MS = 100;
const UPSTREAM_MS = 30_000;
/** Larger responses are streamed and not stored. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** For this long after serving, the upstream is called again for a response that was too large to store. */
const CALLED_AGAIN_MS = 600_000;

export function boundsOf({ maxAnswerBytes }: PricedRoute): UpstreamOptions {
  return { timeoutMs: UPSTREAM_MS, maxBytes: maxAnswerBytes ?? MAX_ANSWER_BYTES };
}

export async function voided({ ledger }: SaleDeps, payment: PaymentRow): Promise<SaleOutcome> {
  const cause = await voidReason(ledger, payment.id);
  return { kind: 'void', ...cause, signature: await signatureOf(ledger, payment), payer: payment.payer };
}

export async function settling({ ledger }: SaleDeps, payment: PaymentRow): Promise<SaleOutcome> {
  return { kind: 'settling', signature: await signatureOf(ledger, payment), payer: payment.payer };
}

/** The response for a settled payment, from the upstream or the database. `holder`: owner of the lease. */
export async function deliver(
  deps: SaleDeps,
  sale: Sale,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  const paid = { payment, signature };
  const reason = payment.reason ?? 'it cannot be served';
  switch (payment.state) {
    case 'owed':
      return serve(deps, sale, payment, signature, holder);
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
      return voided(deps, payment);
  }
}

async function serve(
  deps: SaleDeps,
  sale: Sale,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  const short = isOfBuyer(payment) ? await shortfall(deps, payment, signature) : null;
  if (short !== null) return short;
  const { upstream, ledger } = deps;
  const bounds = boundsOf(sale.route);
  const tried = await serveOwed({ obligations: ledger.obligations, upstream, holder, bounds }, payment);
  if (tried.kind === 'taken') return servedByAnother(deps, sale, payment, signature);
  if (tried.kind !== 'served') return { ...tried, payment, signature };
  const { answer } = tried;
  if (answer === null) return serveAgain(deps, sale, payment, signature);
  return { kind: 'served', payment, signature, answer };
}

/** Waits for the request that has the lease: of concurrent equal requests only one calls the upstream. */
async function servedByAnother(
  deps: SaleDeps,
  sale: Sale,
  { id }: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const end = performance.now() + deps.answerWithinMs;
  for (;;) {
    const payment = await deps.ledger.payments.get(id);
    if (payment.state !== 'owed') return deliver(deps, sale, payment, signature, '');
    const reason = 'another request is being served with this payment';
    if (performance.now() > end) return { kind: 'owed', payment, signature, reason };
    await sleep(LOOK_MS);
  }
}

/** The stored response. If it was too large to store, calls the upstream again with the same payment. */
async function serveAgain(
  { ledger, upstream }: SaleDeps,
  { request, route }: Sale,
  payment: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const stored = await ledger.obligations.answerOf(payment.id);
  if (stored !== null) return { kind: 'served', payment, signature, answer: { kind: 'whole', ...stored } };
  const isOld = payment.servedAt !== null && Date.now() - payment.servedAt.getTime() > CALLED_AGAIN_MS;
  if (request === null || !request.isRepeatable || isOld) return { kind: 'duplicate', payment, signature };
  const answer = await upstream(upstreamRequest(request, payment.id), boundsOf(route));
  if (answer.kind === 'none') return { kind: 'owed', payment, signature, reason: answer.reason };
  const { status } = answer;
  if (status >= 500) return { kind: 'owed', payment, signature, reason: `the upstream answered ${status}` };
  return { kind: 'served', payment, signature, answer };
}

/** True if the buyer composed the whole transaction: it may do more than pay. */
function isOfBuyer({ dialect }: PaymentRow): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

/** docs/interface.md, Payment-protected endpoint 5 and 6: checks the received amount. Null if it is enough. */
async function shortfall(
  { chain, ledger }: SaleDeps,
  payment: PaymentRow,
  signature: string,
): Promise<SaleOutcome | null> {
  const { amount } = payment.terms;
  const received = await receivedOf(chain.pool, signature, payment);
  if (received === null) return { kind: 'owed', payment, signature, reason: null };
  if (received >= BigInt(amount)) return null;
  await ledger.obligations.markShort(payment.id, received, `Received ${received}, expected ${amount}`);
  return { kind: 'unmatched', payment, signature, received };
}
