import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { type Reached, signatureOf } from '../record.ts';
import { admit, askFirst, listSecond } from './admission.ts';
import { isSameCaller } from './callers.ts';
import { pending, voided } from './ends.ts';
import { give } from './giving.ts';
import { type Ask, type Order, type PurchaseDeps, rowOf } from './order.ts';
import type { SaleOutcome } from './outcome.ts';

/** Lease of the request that opens the payment. It covers the settlement and the upstream request. */
const FIRST_LEASE_MS = 90_000;
const LOOK_MS = 100;

/** Settles a payment once and serves its resource once, however often it is presented. */
export async function buy(deps: PurchaseDeps, order: Order): Promise<SaleOutcome> {
  const admission = await admit(deps, order);
  if (admission.kind !== 'admitted') return admission;
  const holder = randomUUID();
  const lease = { holder, ms: FIRST_LEASE_MS };
  const { answer } = order.route;
  const opened = await deps.ledger.payments.open({ ...rowOf(order, admission.slot), answer, lease });
  switch (opened.kind) {
    case 'opened':
      return first(deps, order, opened.payment, holder);
    case 'known':
      return buyAgain(deps, order, opened.payment);
    case 'busy':
      return pending(deps, opened.payment);
    case 'identifier-taken':
      if (order.dialect === 'submitted') return listSecond(deps, order);
      return { kind: 'conflict', message: 'this payment identifier was used for another payment' };
  }
}

/** Serves a recorded payment: only for the same request, and only to a caller with proof that is not on chain. */
export async function buyAgain(deps: PurchaseDeps, ask: Ask, known: PaymentRow): Promise<SaleOutcome> {
  const isForThis = known.seller === 'gateway' && known.requestHash === ask.requestHash;
  if (!isForThis || !isSameCaller(known, ask.caller, Date.now()))
    return { kind: 'duplicate', payment: known, signature: await signatureOf(deps.ledger, known) };
  if (ask.route.flow === 'serve-first' && !(await isAskedFirst(deps, known))) return pending(deps, known);
  return settled(deps, ask, known, randomUUID());
}

async function first(
  deps: PurchaseDeps,
  order: Order,
  payment: PaymentRow,
  holder: string,
): Promise<SaleOutcome> {
  const failed = order.route.flow === 'serve-first' ? await askFirst(deps, order, payment.id) : null;
  const outcome = failed ?? (await settled(deps, order, payment, holder));
  // The next request with this payment may serve it without waiting for the lease.
  if (outcome.kind === 'pending' || outcome.kind === 'unread')
    await deps.ledger.obligations.giveBack(payment.id, holder);
  return outcome;
}

/**
 * Waits for the request that calls the upstream first. False if it is still running at the end. If it stopped,
 * the payment is settled before the upstream is called.
 */
async function isAskedFirst({ ledger, answerWithinMs }: PurchaseDeps, known: PaymentRow): Promise<boolean> {
  const end = performance.now() + answerWithinMs;
  for (let payment = known; ; payment = await ledger.payments.get(known.id)) {
    const isHeld = payment.leaseUntil !== null && payment.leaseUntil.getTime() > Date.now();
    if (payment.isAnswered || payment.state !== 'settling' || !isHeld) return true;
    if (performance.now() > end) return false;
    await sleep(LOOK_MS);
  }
}

const NOWHERE: Reached = { status: 'requested', signature: null };

function isPaid({ status }: Reached, isLarge: boolean): boolean {
  return status === 'finalized' || (status === 'confirmed' && !isLarge);
}

/** Waits for the settlement, at most `answerWithinMs`, and serves the payment. */
async function settled(
  deps: PurchaseDeps,
  ask: Ask,
  opened: PaymentRow,
  holder: string,
): Promise<SaleOutcome> {
  const { ledger, runs, answerWithinMs, warn } = deps;
  const { id } = opened;
  const { finalizedAbove } = ask.route;
  const isLarge = finalizedAbove !== null && BigInt(opened.terms.amount) > finalizedAbove;
  const isFinal = async () => (await ledger.settlements.get(id)).status === 'finalized';
  if (opened.state === 'settling' || (isLarge && opened.state === 'owed')) {
    const reached = await runs
      .reach(id, isLarge ? 'finalized' : 'confirmed', answerWithinMs)
      .catch((error: unknown) => {
        warn(error, `payment ${id} is not seen to settle yet`);
        return NOWHERE;
      });
    const signed = reached.signature;
    // The update that takes the obligation also checks that it is owed.
    if (signed !== null && isPaid(reached, isLarge) && ask.route.flow === 'settle-first')
      return give(deps, ask, { ...opened, state: 'owed' }, signed, holder);
  }
  const payment = await ledger.payments.get(id);
  if (payment.state === 'void') return voided(deps, payment);
  const signature = await signatureOf(ledger, payment);
  if (signature === null || payment.state === 'settling') return pending(deps, payment);
  if (isLarge && !(await isFinal())) return pending(deps, payment);
  return give(deps, ask, payment, signature, holder);
}
