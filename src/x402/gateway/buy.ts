import { randomUUID } from 'node:crypto';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { presenceOf } from '../../solana/proof/presence.ts';
import { openPayment } from '../direct/open-payment.ts';
import {
  type Admission,
  admit,
  blocksRequired,
  paymentRow,
  type Reached,
  signatureOf,
  simulate,
} from '../purchase.ts';
import { type PricedRoute, priceIn } from '../routes/route.ts';
import { timed } from '../timed.ts';
import { isSameCaller } from './callers.ts';
import { type Flaw, failureIn } from './check-proof.ts';
import { claimOwed } from './claim-owed.ts';
import { deliver, settlingOutcome, voidOutcome } from './deliver.ts';
import {
  firstLeaseMs,
  isAskedFirst,
  isUnbound,
  type Order,
  type Sale,
  type SaleDeps,
  type SaleOutcome,
  saleRow,
} from './sale.ts';
import { afterUpstream, callUpstream, cancel } from './serve-first.ts';

const IDENTIFIER_TAKEN: SaleOutcome = {
  kind: 'conflict',
  message: 'this payment identifier has been used for another payment: use a new one',
};

/**
 * Settles a payment once and serves its resource once, however often it is presented. If an owed payment of the payer
 * for the same request is served by no process, serves that one and does not settle this one.
 */
export async function buy(deps: SaleDeps, order: Order): Promise<SaleOutcome> {
  const claim = await claimOwed(deps, order);
  switch (claim?.kind) {
    case undefined:
      return settleNew(deps, order);
    case 'held':
      return settleAndRelease(deps, order, claim.payment, claim.holder);
    case 'known':
      return serveKnownPayment(deps, order, claim.payment);
    case 'identifier-taken':
      return IDENTIFIER_TAKEN;
  }
}

async function settleNew(deps: SaleDeps, order: Order): Promise<SaleOutcome> {
  const { route, request, landedSlot, dialect } = order;
  const admission = await admit(deps, order, route.id, async () =>
    landedSlot === null
      ? simulateUnsent(deps, order)
      : { kind: 'admitted', slot: landedSlot, sourceUnits: null },
  );
  if (admission.kind === 'landed') return recordLanded(deps, order);
  if (admission.kind !== 'admitted') return admission;
  const holder = randomUUID();
  const newPayment = paymentRow(order, admission.slot, saleRow(order));
  const lease = { holder, ms: firstLeaseMs(order) };
  const isAsked = isAskedFirst(order, dialect);
  const input = { ...newPayment, request, answer: route.answer, isAsked, lease };
  const opened = await openPayment(deps, input, settlesDirectly(order));
  switch (opened.kind) {
    case 'opened':
      return buyFirst(deps, order, opened.payment, holder);
    case 'paid': {
      const paid = { ...NEWLY_PAID, ...newPayment, isAnswered: route.answer !== null };
      const sold = { ...paid, answerStatus: route.answer?.status ?? null };
      return releaseUnlessServed(
        deps,
        input.id,
        holder,
        deliver(deps, order, sold, opened.signature, holder, true),
      );
    }
    case 'stopped':
      return {
        kind: 'unavailable',
        reason: 'no new payment is accepted now: send the same payment again later',
      };
    case 'known':
      return serveKnownPayment(deps, order, opened.payment);
    case 'identifier-taken':
      if (dialect === 'submitted')
        return recordUnmatched(deps, order, 'another transaction has already paid its quote');
      return IDENTIFIER_TAKEN;
  }
}

/** True if the fee payer has yet to sign, and if the buyer is served as soon as the payment is confirmed. */
function settlesDirectly(order: Order): boolean {
  const { route, landedSlot, payment, terms, dialect } = order;
  const isUnsigned = landedSlot === null && payment.signature === null;
  return isUnsigned && !isAskedFirst(order, dialect) && !needsFinality(route, terms);
}

function needsFinality(
  route: PricedRoute,
  { asset, amount }: { readonly asset: string; readonly amount: bigint | string },
): boolean {
  const finalizedAbove = priceIn(route, asset)?.finalizedAbove ?? null;
  return finalizedAbove !== null && BigInt(amount) > finalizedAbove;
}

/**
 * Simulates a payment that the buyer says it has not sent. `landed` also if a node has the signature: the simulating
 * node may not have the transaction yet, and the presenter may have copied another buyer's payment. An expired
 * transaction can have landed long ago, so nodes search their history for it.
 */
async function simulateUnsent(deps: SaleDeps, order: Order): Promise<Admission> {
  // The settlement of a route with serve-first begins after the upstream has responded.
  const upstreamSeconds = isAskedFirst(order, order.dialect) ? order.route.timeoutSeconds : 0;
  const simulated = await simulate(deps, order, blocksRequired(upstreamSeconds));
  const { signature } = order.payment;
  const isExpired = simulated.kind === 'refused' && simulated.reason === 'payment_expired';
  if (signature === null || (simulated.kind !== 'admitted' && !isExpired)) return simulated;
  const { kind } = await presenceOf(deps.chain.pool, signature, isExpired);
  if (kind === 'unknown') return { kind: 'untried', reason: 'no node returns the status of the transaction' };
  return kind === 'seen' ? { kind: 'landed' } : simulated;
}

/**
 * Records a transaction that was on chain before it was presented, unless it failed. If no other gateway has recorded
 * it, it may be copied from the chain: nothing binds it to this request. The stored state is final, so one node's
 * report does not suffice.
 */
async function recordLanded(deps: SaleDeps, order: Order): Promise<SaleOutcome> {
  const { signature } = order.payment;
  if (signature !== null) {
    const presence = await presenceOf(deps.chain.pool, signature, true);
    const failed = failureIn(presence, signature);
    if (failed !== null) return failed;
    if (presence.kind !== 'seen' || !presence.isAgreed)
      return { kind: 'untried', reason: 'no second node reports yet that the transaction is on chain' };
  }
  return recordUnmatched(deps, order, 'the transaction was on chain before it was presented to this server');
}

/** Records a transaction that its buyer sent and that, because of `flaw`, buys nothing. */
export async function buyNothing(deps: SaleDeps, order: Order, flaw: Flaw): Promise<SaleOutcome> {
  if (flaw.kind === 'late')
    return recordUnmatched(deps, order, 'the payment was presented after its quote had expired');
  const { received, refusal } = flaw;
  const { amount } = order.terms;
  const reason = `received ${received} base units, expected ${amount}: ${refusal.message}`;
  const recorded = await recordUnmatched(deps, order, reason);
  const { signature } = order.payment;
  if (recorded.kind !== 'duplicate' || signature === null) return recorded;
  const { payment } = recorded;
  return { kind: 'unmatched', payment, signature, received, refusal: received < amount ? null : refusal };
}

/** Records a payment that buys nothing. If another process has opened it meanwhile, serves it. */
async function recordUnmatched(deps: SaleDeps, order: Order, reason: string): Promise<SaleOutcome> {
  const caller = { ...order.caller, identifier: null };
  const newPayment = paymentRow(order, order.landedSlot ?? 0n, saleRow({ ...order, caller }));
  const payment = await deps.ledger.payments.storeUnmatched({ ...newPayment, reason });
  if (!isUnbound(payment)) return serveKnownPayment(deps, order, payment);
  return { kind: 'duplicate', payment, signature: order.payment.signature };
}

/** Serves a recorded payment for the same request, if data that is not on chain identifies the caller as its buyer. */
export async function serveKnownPayment(
  deps: SaleDeps,
  sale: Sale,
  presented: PaymentRow,
): Promise<SaleOutcome> {
  const { replacedBy } = presented;
  const known = replacedBy === null ? presented : await deps.ledger.payments.get(replacedBy);
  const { seller, requestHash, servedAt } = known;
  const isSameRequest = seller === 'gateway' && requestHash === sale.requestHash;
  const isBuyer =
    sale.heldPayment === known.id ||
    [presented, known].some(({ caller }) => isSameCaller({ caller, servedAt }, sale.caller, Date.now()));
  if (!isSameRequest || !isBuyer)
    return { kind: 'duplicate', payment: known, signature: await signatureOf(deps.ledger, known) };
  if (!isAskedFirst(sale, known.dialect)) return settle(deps, sale, known, randomUUID());
  const asked = await afterUpstream(deps, known);
  if (asked === null) return settlingOutcome(deps, known);
  const isUnanswered = asked.state === 'settling' && !asked.isAnswered && asked.askedAt !== null;
  // Nothing is charged for a request that the upstream may have received and that may not be repeated.
  const cancelled =
    isUnanswered && sale.request?.isRepeatable !== true ? await cancel(deps, known.id, NOT_REPEATABLE) : null;
  return cancelled ?? settle(deps, sale, known, randomUUID());
}

const NOT_REPEATABLE =
  'the gateway stopped while the upstream was called, and the route does not allow a repetition (retryUnsafe)';

/** Columns of a payment that is confirmed and that no request has served yet. */
const NEWLY_PAID = { state: 'owed', reason: null, received: null } as const;

async function buyFirst(
  deps: SaleDeps,
  order: Order,
  payment: PaymentRow,
  holder: string,
): Promise<SaleOutcome> {
  const isFirst = isAskedFirst(order, order.dialect);
  const cancelled = isFirst ? await callUpstream(deps, order, payment) : null;
  return cancelled ?? settleAndRelease(deps, order, payment, holder);
}

/** Settles and serves a payment whose lease `holder` has. */
function settleAndRelease(
  deps: SaleDeps,
  sale: Sale,
  payment: PaymentRow,
  holder: string,
): Promise<SaleOutcome> {
  return releaseUnlessServed(deps, payment.id, holder, settle(deps, sale, payment, holder));
}

/** Releases the lease if the payment is not served, so that the next request with it can serve it without delay. */
async function releaseUnlessServed(
  { ledger }: Pick<SaleDeps, 'ledger'>,
  id: string,
  holder: string,
  sale: Promise<SaleOutcome>,
): Promise<SaleOutcome> {
  const outcome = await sale;
  if (outcome.kind === 'settling' || outcome.kind === 'owed') await ledger.obligations.release(id, holder);
  return outcome;
}

/** Waits for the settlement, at most `answerWithinMs`, and serves the payment. */
async function settle(deps: SaleDeps, sale: Sale, opened: PaymentRow, holder: string): Promise<SaleOutcome> {
  const { ledger, runs, answerWithinMs, observe, warn } = deps;
  const { id } = opened;
  const { flow } = sale.route;
  const isLarge = needsFinality(sale.route, opened.terms);
  if (opened.state === 'settling' || (isLarge && opened.state === 'owed')) {
    const commitment = isLarge ? 'finalized' : 'confirmed';
    const wait = () => runs.reach(id, commitment, answerWithinMs);
    const { status, signature } = await (isLarge ? wait() : timed(observe, 'confirmed', wait)).catch(
      (error: unknown): Reached => {
        warn(error, `waiting for the settlement of payment ${id} failed`);
        return { status: 'requested', signature: null };
      },
    );
    const isPaid = status === 'finalized' || (status === 'confirmed' && !isLarge);
    // The state `owed` is not read here: the update that claims the obligation checks it.
    if (signature !== null && isPaid && flow === 'settle-first')
      return deliver(deps, sale, { ...opened, state: 'owed' }, signature, holder);
  }
  const payment = await ledger.payments.get(id);
  if (payment.state === 'void') return voidOutcome(deps, payment);
  const signature = await signatureOf(ledger, payment);
  if (signature === null || payment.state === 'settling') return settlingOutcome(deps, payment);
  if (isLarge && (await ledger.settlements.get(id)).status !== 'finalized')
    return settlingOutcome(deps, payment);
  return deliver(deps, sale, payment, signature, holder);
}
