import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { askedOf, serveOwed } from '../obligation.ts';
import { voided } from './ends.ts';
import { type Ask, boundsOf, type PurchaseDeps } from './order.ts';
import { type SaleOutcome, whole } from './outcome.ts';
import { receivedOf } from './received.ts';

const LOOK_MS = 100;
/** For this long after serving, the upstream is called again for a response that was too large to store. */
const ASKED_AGAIN_MS = 600_000;

/** The response for a settled payment, from the upstream or the database. `holder`: owner of the lease. */
export async function give(
  deps: PurchaseDeps,
  order: Ask,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  switch (payment.state) {
    case 'owed':
      return serve(deps, order, payment, signature, holder);
    case 'served':
      return giveAgain(deps, order, payment, signature);
    case 'refundable': {
      const answer = await deps.ledger.obligations.answerOf(payment.id);
      return { ...unservable(payment, signature), answer: answer === null ? null : whole(answer) };
    }
    case 'unmatched':
      return unservable(payment, signature);
    case 'settling':
      return { kind: 'pending', signature, payer: payment.payer };
    case 'void':
      return voided(deps, payment);
  }
}

function unservable(payment: PaymentRow, signature: string) {
  const reason = payment.reason ?? 'it cannot be served';
  return { kind: 'unservable' as const, payment, signature, reason, answer: null };
}

async function serve(
  deps: PurchaseDeps,
  order: Ask,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<SaleOutcome> {
  const { obligations } = deps.ledger;
  const short = isOfBuyer(payment) ? await shortfall(deps, payment, signature) : null;
  if (short !== null) return short;
  if (payment.isAnswered) {
    await obligations.served(payment.id, payment.answerStatus ?? 200, null);
    return giveAgain(deps, order, payment, signature);
  }
  const served = await serveOwed(
    { obligations, upstream: deps.upstream, holder, bounds: boundsOf(order.route) },
    payment.id,
  );
  switch (served.kind) {
    case 'answered':
      return served.state === 'served'
        ? { kind: 'served', payment, signature, answer: served.answer }
        : { ...unservable(payment, signature), reason: served.reason, answer: served.answer };
    case 'refundable':
      return { ...unservable(payment, signature), reason: served.reason };
    case 'unanswered':
      return { kind: 'owed', payment, signature, reason: served.reason };
    case 'taken':
      return servedByAnother(deps, order, payment, signature);
  }
}

/** Waits for the request that has the lease: of concurrent equal requests only one calls the upstream. */
async function servedByAnother(
  deps: PurchaseDeps,
  order: Ask,
  { id }: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const end = performance.now() + deps.answerWithinMs;
  for (;;) {
    const payment = await deps.ledger.payments.get(id);
    if (payment.state !== 'owed') return give(deps, order, payment, signature, '');
    const reason = 'another request is being served with this payment';
    if (performance.now() > end) return { kind: 'owed', payment, signature, reason };
    await sleep(LOOK_MS);
  }
}

/** The stored response. If it was too large to store, calls the upstream again with the same payment. */
async function giveAgain(
  { ledger, upstream }: PurchaseDeps,
  { request, route }: Ask,
  payment: PaymentRow,
  signature: string,
): Promise<SaleOutcome> {
  const stored = await ledger.obligations.answerOf(payment.id);
  if (stored !== null) return { kind: 'served', payment, signature, answer: whole(stored) };
  const isOld = payment.servedAt !== null && Date.now() - payment.servedAt.getTime() > ASKED_AGAIN_MS;
  if (request === null || !request.isRepeatable || isOld) return { kind: 'duplicate', payment, signature };
  const answer = await upstream(askedOf(request, payment.id), boundsOf(route));
  if (answer.kind === 'none') return { kind: 'owed', payment, signature, reason: answer.reason };
  const { status } = answer.kind === 'whole' ? answer.answer : answer;
  if (status >= 500) return { kind: 'owed', payment, signature, reason: `the upstream answered ${status}` };
  return { kind: 'served', payment, signature, answer };
}

/** True if the buyer composed the whole transaction: it may do more than pay. */
function isOfBuyer({ dialect }: PaymentRow): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

/** docs/interface.md, Payment-protected endpoint 5 and 6: checks the received amount. Null if it is enough. */
async function shortfall(
  { chain, ledger }: PurchaseDeps,
  payment: PaymentRow,
  signature: string,
): Promise<SaleOutcome | null> {
  const received = await receivedOf(chain.pool, signature, payment);
  if (received === null) return { kind: 'unread', payment, signature };
  if (received >= BigInt(payment.terms.amount)) return null;
  await ledger.obligations.short(
    payment.id,
    received,
    `Received ${received}, expected ${payment.terms.amount}`,
  );
  return { kind: 'short', payment, signature, received };
}
