import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDomainError } from '../../domain/errors.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { getSignatureStatuses } from '../../solana/rpc/methods.ts';
import { upstreamRequest } from '../obligation.ts';
import { type Admission, admit, paymentRow, type Reached, signatureOf, simulate } from '../purchase.ts';
import { storableAnswer } from '../upstream.ts';
import { isSameCaller } from './callers.ts';
import type { Flaw } from './check-proof.ts';
import { deliver, POLL_MS, settlingOutcome, upstreamOptionsOf, voidOutcome } from './deliver.ts';
import type { Order, OutcomeOf, Sale, SaleDeps, SaleOutcome } from './sale.ts';

/** Lease of the request that opens the payment: long enough for the settlement and the upstream request. */
const FIRST_LEASE_MS = 90_000;

/** Settles a payment once and serves its resource once, however often it is presented. */
export async function buy(deps: SaleDeps, order: Order): Promise<SaleOutcome> {
  const { route, request, landedSlot, dialect } = order;
  const admission = await admit(deps, order, route.id, async () =>
    landedSlot === null
      ? simulateUnsent(deps, order)
      : { kind: 'admitted', slot: landedSlot, sourceUnits: null },
  );
  // If no other gateway has recorded this payment, it may be copied from the chain: nothing binds it to this request.
  if (admission.kind === 'landed')
    return recordUnmatched(
      deps,
      order,
      'the transaction was on chain before it was presented to this server',
    );
  if (admission.kind !== 'admitted') return admission;
  const holder = randomUUID();
  const newPayment = paymentRow(order, admission.slot, saleRow(order));
  const lease = { holder, ms: FIRST_LEASE_MS };
  const opened = await deps.ledger.payments.open({ ...newPayment, request, answer: route.answer, lease });
  switch (opened.kind) {
    case 'opened':
      return buyFirst(deps, order, opened.payment, holder);
    case 'known':
      return serveKnownPayment(deps, order, opened.payment);
    case 'busy':
      return settlingOutcome(deps, opened.payment);
    case 'identifier-taken':
      if (dialect === 'submitted')
        return recordUnmatched(deps, order, 'another transaction has already paid its quote');
      return {
        kind: 'conflict',
        message: 'this payment identifier has been used for another payment: use a new one',
      };
  }
}

/**
 * Simulates a payment that the buyer says it has not sent. `landed` also if a node has the signature: the simulating
 * node may not have the transaction yet, and the presenter may have copied another buyer's payment.
 */
async function simulateUnsent(deps: SaleDeps, order: Order): Promise<Admission> {
  const simulated = await simulate(deps, order);
  const { signature } = order.payment;
  if (simulated.kind !== 'admitted' || signature === null) return simulated;
  const answers = await deps.chain.pool.all((node) => getSignatureStatuses(node, [signature], false));
  const isSent = answers.some(
    ({ result }) => result.status === 'fulfilled' && (result.value.value[0] ?? null) !== null,
  );
  return isSent ? { kind: 'landed' } : simulated;
}

function saleRow({ route, requestHash, caller }: Order) {
  return { seller: 'gateway' as const, route: route.id, requestHash, caller };
}

/** Records a transaction that its buyer sent and that, because of `flaw`, buys nothing. */
export async function buyNothing(deps: SaleDeps, order: Order, flaw: Flaw): Promise<SaleOutcome> {
  if (flaw.kind === 'late')
    return recordUnmatched(deps, order, 'the payment was presented after its quote had expired');
  const { received, refusal } = flaw;
  const { amount } = order.terms;
  const reason = `received ${received} base units, expected ${amount}: ${refusal.message}`;
  const { payment, signature } = await recordUnmatched(deps, order, reason);
  return received < amount && signature !== null
    ? { kind: 'unmatched', payment, signature, received }
    : refusal;
}

async function recordUnmatched(
  { ledger }: SaleDeps,
  order: Order,
  reason: string,
): Promise<OutcomeOf<'duplicate'>> {
  const caller = { ...order.caller, identifier: null };
  const newPayment = paymentRow(order, order.landedSlot ?? 0n, saleRow({ ...order, caller }));
  const payment = await ledger.payments.storeUnmatched({ ...newPayment, reason });
  return { kind: 'duplicate', payment, signature: order.payment.signature };
}

/** Serves a recorded payment for the same request, if data that is not on chain identifies the caller as its buyer. */
export async function serveKnownPayment(deps: SaleDeps, sale: Sale, known: PaymentRow): Promise<SaleOutcome> {
  const isSameRequest = known.seller === 'gateway' && known.requestHash === sale.requestHash;
  if (!isSameRequest || !isSameCaller(known, sale.caller, Date.now()))
    return { kind: 'duplicate', payment: known, signature: await signatureOf(deps.ledger, known) };
  if (sale.route.flow === 'serve-first' && !(await isUpstreamDone(deps, known)))
    return settlingOutcome(deps, known);
  return settle(deps, sale, known, randomUUID());
}

async function buyFirst(
  deps: SaleDeps,
  order: Order,
  payment: PaymentRow,
  holder: string,
): Promise<SaleOutcome> {
  const cancelled = order.route.flow === 'serve-first' ? await callUpstream(deps, order, payment.id) : null;
  const outcome = cancelled ?? (await settle(deps, order, payment, holder));
  // Without the lease, the next request with this payment can serve it without delay.
  if (outcome.kind === 'settling' || outcome.kind === 'owed')
    await deps.ledger.obligations.release(payment.id, holder);
  return outcome;
}

/** Calls the upstream before settlement, and stores its response. Null if it can be sold, otherwise the outcome. */
async function callUpstream(
  { upstream, ledger }: SaleDeps,
  { route, request }: Order,
  id: string,
): Promise<SaleOutcome | null> {
  if (request === null) return null;
  const answer = await upstream(upstreamRequest(request, id), upstreamOptionsOf(route));
  if (answer.kind === 'large') answer.discard();
  const stored = answer.kind === 'none' ? null : storableAnswer(answer);
  if (stored !== null && stored.status < 400) {
    await ledger.obligations.storeAnswer(id, stored);
    return null;
  }
  const reason =
    answer.kind === 'large'
      ? 'the upstream response is too large to be stored before settlement'
      : 'the upstream returned no response that can be sold';
  try {
    await ledger.settlements.cancel(id, { code: 'not_served', message: reason });
  } catch (error) {
    // Settlement has begun, so the payment is settled and the upstream is called again afterwards.
    if (isDomainError(error, 'NotCancellable')) return null;
    throw error;
  }
  return { kind: 'cancelled', reason, answer: answer.kind === 'whole' ? answer : null };
}

/**
 * Waits for the request that calls the upstream before settlement. False if that request still runs after
 * `answerWithinMs`. If it stopped without a response, the payment is settled before the upstream is called.
 */
async function isUpstreamDone({ ledger, answerWithinMs }: SaleDeps, known: PaymentRow): Promise<boolean> {
  const end = performance.now() + answerWithinMs;
  for (let payment = known; ; payment = await ledger.payments.get(known.id)) {
    const isLeased = payment.leaseUntil !== null && payment.leaseUntil.getTime() > Date.now();
    if (payment.isAnswered || payment.state !== 'settling' || !isLeased) return true;
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
}

/** Waits for the settlement, at most `answerWithinMs`, and serves the payment. */
async function settle(deps: SaleDeps, sale: Sale, opened: PaymentRow, holder: string): Promise<SaleOutcome> {
  const { ledger, runs, answerWithinMs, warn } = deps;
  const { id } = opened;
  const { finalizedAbove, flow } = sale.route;
  const isLarge = finalizedAbove !== null && BigInt(opened.terms.amount) > finalizedAbove;
  if (opened.state === 'settling' || (isLarge && opened.state === 'owed')) {
    const { status, signature } = await runs
      .reach(id, isLarge ? 'finalized' : 'confirmed', answerWithinMs)
      .catch((error: unknown): Reached => {
        warn(error, `waiting for the settlement of payment ${id} failed`);
        return { status: 'requested', signature: null };
      });
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
