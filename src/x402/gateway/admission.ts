import type { StoredAnswer } from '../../ledger/payments.ts';
import { tryPayment } from '../trial.ts';
import { boundsOf, type Order, type PurchaseDeps, rowOf } from './order.ts';
import type { Outcome } from './outcome.ts';

/** What a payment needs before it goes on record; or what the buyer hears in place of that. */
export type Admission =
  | {
      readonly kind: 'admitted';
      readonly slot: bigint;
      /** Where it is there before the payment. */
      readonly answer: StoredAnswer | null;
    }
  | Outcome;

/** One simulation, the budgets, and the answer of a route that is asked first. Settles nothing. */
export async function admit(deps: PurchaseDeps, order: Order): Promise<Admission> {
  const over = await deps.budgets.refusal(order.payment, order.route.id);
  if (over !== null) return { kind: 'unavailable', why: over };
  const slot = order.shownIn ?? (await acceptedIn(deps, order));
  if (typeof slot !== 'bigint') return slot;
  const answer = await answeredBefore(deps, order);
  return answer !== null && 'kind' in answer ? answer : { kind: 'admitted', slot, answer };
}

async function acceptedIn({ chain, ledger }: PurchaseDeps, order: Order): Promise<bigint | Outcome> {
  const trial = await tryPayment(chain, order.wire);
  const { payer } = order.payment;
  switch (trial.kind) {
    case 'accepted':
      return trial.slot;
    case 'unanswered':
      return { kind: 'unavailable', why: `no node can try the payment now: ${trial.why}` };
    case 'expired': {
      const message = 'the blockhash of the transaction is expired, or no node knows it yet';
      return { kind: 'refused', reason: 'payment_expired', message, payer };
    }
    case 'failed': {
      const reason = 'invalid_exact_svm_transaction_simulation_failed';
      return { kind: 'refused', reason, message: trial.error, payer, logs: trial.logs };
    }
    case 'landed': {
      // Anybody can copy it from the chain: nothing says that it was made for this request.
      const { request: _request, ...row } = rowOf(order, 0n);
      const reason = 'it was on the chain before it was shown to this server';
      await ledger.payments.listUnmatched({ ...row, reason });
      return {
        kind: 'refused',
        reason: 'duplicate_settlement',
        message: `the transaction: ${reason}`,
        payer,
      };
    }
  }
}

/** An answer that is there before the payment: that of the route itself, or of an upstream that is asked first. */
async function answeredBefore(
  { upstream }: PurchaseDeps,
  { route, request }: Order,
): Promise<StoredAnswer | Outcome | null> {
  if (route.answer !== null) return route.answer;
  if (route.flow !== 'serve-first' || request === null) return null;
  const { method, url, headers, body } = request;
  const asked = { method, url, headers, body: Buffer.from(body, 'base64') };
  const answer = await upstream(asked, boundsOf(route));
  if (answer.kind === 'none') return { kind: 'unsettled', why: answer.why, answer: null };
  if (answer.kind === 'large') {
    const why = 'the answer of the upstream is too large to be held back until it is paid';
    return { kind: 'unsettled', why, answer: null };
  }
  if (answer.answer.status < 400) return answer.answer;
  return { kind: 'unsettled', why: `the upstream answered ${answer.answer.status}`, answer };
}
