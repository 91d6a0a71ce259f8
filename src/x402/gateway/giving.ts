import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/payments.ts';
import { serveOwed } from '../obligation.ts';
import { paymentHeaders } from '../routes/headers.ts';
import { boundsOf, type Order, type PurchaseDeps } from './order.ts';
import { type Outcome, whole } from './outcome.ts';
import { receivedOf } from './received.ts';

const LOOK_MS = 100;

/** What a settled payment gets: its answer, once from the upstream and then from the record. `holder`: who has the lease of it. */
export async function give(
  deps: PurchaseDeps,
  order: Order,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<Outcome> {
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
    case 'void':
      return { kind: 'pending', signature, payer: payment.payer };
  }
}

function unservable(payment: PaymentRow, signature: string) {
  const why = payment.reason ?? 'it cannot be served';
  return { kind: 'unservable' as const, payment, signature, why, answer: null };
}

async function serve(
  deps: PurchaseDeps,
  order: Order,
  payment: PaymentRow,
  signature: string,
  holder: string,
): Promise<Outcome> {
  const { obligations } = deps.ledger;
  const short = isOfBuyer(payment) ? await shortfall(deps, payment, signature) : null;
  if (short !== null) return short;
  const served = await serveOwed(
    { obligations, upstream: deps.upstream, holder, bounds: boundsOf(order.route) },
    payment.id,
  );
  switch (served.kind) {
    case 'answered':
      return served.state === 'served'
        ? { kind: 'served', payment, signature, answer: served.answer }
        : { ...unservable(payment, signature), why: served.why, answer: served.answer };
    case 'refundable':
      return { ...unservable(payment, signature), why: served.why };
    case 'unanswered':
      return { kind: 'owed', payment, signature, why: served.why };
    case 'taken':
      return servedByAnother(deps, order, payment, signature);
  }
}

/** Waits for the one who has it: of equal requests at once one asks the upstream. */
async function servedByAnother(
  deps: PurchaseDeps,
  order: Order,
  { id }: PaymentRow,
  signature: string,
): Promise<Outcome> {
  const end = performance.now() + deps.answerWithinMs;
  for (;;) {
    const payment = await deps.ledger.payments.get(id);
    if (payment.state !== 'owed') return give(deps, order, payment, signature, '');
    const why = 'another request is being served with this payment';
    if (performance.now() > end) return { kind: 'owed', payment, signature, why };
    await sleep(LOOK_MS);
  }
}

/** The stored answer, or that of the upstream asked once more under the same payment, where it was too large to keep. */
async function giveAgain(
  { ledger, upstream }: PurchaseDeps,
  { request, route }: Order,
  payment: PaymentRow,
  signature: string,
): Promise<Outcome> {
  const stored = await ledger.obligations.answerOf(payment.id);
  if (stored !== null) return { kind: 'served', payment, signature, answer: whole(stored) };
  if (request === null || !request.isRepeatable) return { kind: 'duplicate', payment, signature };
  const { method, url, body } = request;
  const headers = { ...request.headers, ...paymentHeaders(payment.id) };
  const asked = { method, url, headers, body: Buffer.from(body, 'base64') };
  const answer = await upstream(asked, boundsOf(route));
  if (answer.kind === 'none') return { kind: 'owed', payment, signature, why: answer.why };
  return { kind: 'served', payment, signature, answer };
}

/** True where the buyer has made the whole transaction: it may do more than pay. */
function isOfBuyer({ dialect }: PaymentRow): boolean {
  return dialect === 'example' || dialect === 'submitted';
}

/** Rules 5 and 6 of the interface: the landed transaction itself says what arrived. Null where it is enough. */
async function shortfall(
  { chain, ledger }: PurchaseDeps,
  payment: PaymentRow,
  signature: string,
): Promise<Outcome | null> {
  const received = await receivedOf(chain.pool, signature, payment);
  if (received === null)
    return { kind: 'owed', payment, signature, why: 'Could not fetch confirmed transaction' };
  if (received >= BigInt(payment.terms.amount)) return null;
  const why = `Received ${received}, expected ${payment.terms.amount}`;
  await ledger.obligations.short(payment.id, received, why);
  return { ...unservable(payment, signature), why };
}
