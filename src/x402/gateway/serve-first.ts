import { setTimeout as sleep } from 'node:timers/promises';
import { isDomainError } from '../../domain/errors.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { discardAnswer, forwardableRefusal, reasonOf, storableAnswer, verdictOf } from '../upstream.ts';
import { POLL_MS, upstreamOptionsOf } from './deliver.ts';
import type { Order, OutcomeOf, SaleDeps, SaleOutcome } from './sale.ts';

/** Calls the upstream before settlement, and stores its response. Null if it can be sold, otherwise the outcome. */
export async function callUpstream(
  { upstream, ledger }: SaleDeps,
  { route, request }: Order,
  payment: PaymentRow,
): Promise<SaleOutcome | null> {
  if (request === null) return null;
  const { id } = payment;
  const answer = await upstream({ request, payment, isPaid: false }, upstreamOptionsOf(route));
  if (answer.kind === 'none') return cancel({ ledger }, id, answer.reason);
  const stored = storableAnswer(answer);
  if (stored === null) {
    discardAnswer(answer);
    return cancel({ ledger }, id, 'the upstream response is too large to be stored before settlement');
  }
  if (verdictOf(answer.status) !== 'served')
    return cancel({ ledger }, id, reasonOf(answer), forwardableRefusal(answer));
  await ledger.obligations.storeAnswer(id, stored);
  return null;
}

/** Cancels the settlement. Null if it has begun: then the payment is settled, and the upstream is called afterwards. */
export async function cancel(
  { ledger }: Pick<SaleDeps, 'ledger'>,
  id: string,
  reason: string,
  answer: OutcomeOf<'cancelled'>['answer'] = null,
): Promise<OutcomeOf<'cancelled'> | null> {
  try {
    await ledger.settlements.cancel(id, { code: 'not_served', message: reason });
  } catch (error) {
    if (isDomainError(error, 'NotCancellable')) return null;
    throw error;
  }
  return { kind: 'cancelled', reason, answer };
}

/**
 * Waits for the request that calls the upstream before settlement, and returns the payment. Null if that request still
 * runs after `answerWithinMs`. If it stopped without a response, the payment is settled before the upstream is called.
 */
export async function afterUpstream(
  { ledger, answerWithinMs }: SaleDeps,
  known: PaymentRow,
): Promise<PaymentRow | null> {
  const end = performance.now() + answerWithinMs;
  for (let payment = known; ; payment = await ledger.payments.get(known.id)) {
    const isLeased = payment.leaseUntil !== null && payment.leaseUntil.getTime() > Date.now();
    if (payment.isAnswered || payment.state !== 'settling' || !isLeased) return payment;
    if (performance.now() > end) return null;
    await sleep(POLL_MS);
  }
}
