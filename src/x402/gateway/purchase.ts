import { randomUUID } from 'node:crypto';
import type { PaymentRow } from '../../ledger/payments.ts';
import { admit } from './admission.ts';
import { isSameCaller } from './callers.ts';
import { give } from './giving.ts';
import { idOf, type Order, type PurchaseDeps, rowOf } from './order.ts';
import type { Outcome } from './outcome.ts';

/** For the one who puts it on record: until it is settled, and then for the upstream. */
const FIRST_LEASE_MS = 90_000;

/** Settles a payment once, and serves once what it has bought, however often it is shown. */
export async function buy(deps: PurchaseDeps, order: Order): Promise<Outcome> {
  const { payments } = deps.ledger;
  const known = await payments.find(idOf(order));
  if (known !== undefined) return again(deps, order, known);
  const admission = await admit(deps, order);
  if (admission.kind !== 'admitted') return admission;
  const { slot, answer } = admission;
  const holder = randomUUID();
  const lease = { holder, ms: FIRST_LEASE_MS };
  const opened = await payments.open({ ...rowOf(order, slot), answer, lease });
  switch (opened.kind) {
    case 'opened':
      return settled(deps, order, opened.payment, holder);
    case 'known':
      return again(deps, order, opened.payment);
    case 'busy':
      return pending(deps, opened.payment);
    case 'identifier-taken':
      return { kind: 'conflict', message: 'this payment identifier was used for another payment' };
  }
}

/** One that is on record: only for the same request, and only for a caller who shows more than the chain does. */
async function again(deps: PurchaseDeps, order: Order, known: PaymentRow): Promise<Outcome> {
  const isForThis = known.seller === 'gateway' && known.requestHash === order.requestHash;
  if (isForThis && isSameCaller(known, order.caller, Date.now()))
    return settled(deps, order, known, randomUUID());
  return { kind: 'duplicate', payment: known, signature: await signatureOf(deps, known) };
}

/** Waits until it is settled, and gives what it has bought. */
async function settled(
  deps: PurchaseDeps,
  order: Order,
  opened: PaymentRow,
  holder: string,
): Promise<Outcome> {
  const { ledger, runs, answerWithinMs, warn } = deps;
  const { id } = opened;
  const { finalizedAbove } = order.route;
  const commitment =
    finalizedAbove !== null && order.terms.amount > finalizedAbove ? 'finalized' : 'confirmed';
  const isFinal = async () => (await ledger.settlements.get(id)).status === 'finalized';
  if (opened.state === 'settling' || (commitment === 'finalized' && opened.state === 'owed'))
    await runs
      .reach(id, commitment, answerWithinMs)
      .catch((error: unknown) => warn(error, `payment ${id} is not seen to settle yet`));
  const payment = await ledger.payments.get(id);
  if (payment.state === 'void') return voided(deps, payment);
  const signature = await signatureOf(deps, payment);
  if (signature === null || payment.state === 'settling') return pending(deps, payment);
  if (commitment === 'finalized' && !(await isFinal())) return pending(deps, payment);
  return give(deps, order, payment, signature, holder);
}

async function voided(deps: PurchaseDeps, payment: PaymentRow): Promise<Outcome> {
  const { status, reason } = await deps.ledger.settlements.get(payment.id);
  const code = status === 'dead' ? 'payment_expired' : 'invalid_exact_svm_transaction_failed';
  const message = reason?.message ?? `the payment is ${status}`;
  const signature = await signatureOf(deps, payment);
  return { kind: 'void', reason: code, message, signature, payer: payment.payer };
}

async function pending(deps: PurchaseDeps, payment: PaymentRow): Promise<Outcome> {
  return { kind: 'pending', signature: await signatureOf(deps, payment), payer: payment.payer };
}

async function signatureOf({ ledger }: PurchaseDeps, { id }: PaymentRow): Promise<string | null> {
  return (await ledger.attempts.of(id)).at(-1)?.signature ?? null;
}
