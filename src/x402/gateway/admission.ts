import { isDomainError } from '../../domain/errors.ts';
import { getSignatureStatuses } from '../../solana/rpc/methods.ts';
import { askedOf } from '../obligation.ts';
import { tryPayment } from '../trial.ts';
import type { Flaw } from './check-proof.ts';
import { boundsOf, type Order, type PurchaseDeps, rowOf } from './order.ts';
import type { SaleOutcome } from './outcome.ts';

/** The accepted slot of a payment to record, or the outcome if it is not recorded. */
export type Admission = { readonly kind: 'admitted'; readonly slot: bigint } | SaleOutcome;

/** Checks the budgets and simulates once. Settles nothing. */
export async function admit(deps: PurchaseDeps, order: Order): Promise<Admission> {
  const over =
    order.dialect === 'submitted' ? null : await deps.budgets.refusal(order.payment, order.route.id);
  if (over !== null) return { kind: 'unavailable', reason: over };
  if (order.shownIn !== null) return { kind: 'admitted', slot: order.shownIn };
  const trial = await tryPayment(deps, order);
  const { payer } = order.payment;
  switch (trial.kind) {
    case 'accepted':
      return (await isSent(deps, order)) ? landedBefore(deps, order) : { kind: 'admitted', slot: trial.slot };
    case 'unanswered':
      return { kind: 'untried', reason: trial.reason };
    case 'expired':
      return { kind: 'refused', reason: 'payment_expired', message: trial.reason, payer };
    case 'failed': {
      const reason = 'invalid_exact_svm_transaction_simulation_failed';
      return { kind: 'refused', reason, message: trial.error, payer, logs: trial.logs };
    }
    case 'landed':
      return landedBefore(deps, order);
  }
}

/** True if a node has seen the fully signed transaction: it may be a copy, and not yet final for the simulation. */
async function isSent({ chain }: PurchaseDeps, { payment: { signature } }: Order): Promise<boolean> {
  if (signature === null) return false;
  const answers = await chain.pool.all((node) => getSignatureStatuses(node, [signature], false));
  return answers.some(
    ({ result }) => result.status === 'fulfilled' && (result.value.value[0] ?? null) !== null,
  );
}

/** Another gateway may have settled it. Otherwise it may be copied from the chain: nothing binds it to this request. */
async function landedBefore(deps: PurchaseDeps, order: Order): Promise<SaleOutcome> {
  return list(deps, order, 'it was on the chain before it was shown to this server');
}

/** The buyer paid a quote twice: the second payment is recorded as unmatched. */
export function listSecond(deps: PurchaseDeps, order: Order): Promise<SaleOutcome> {
  return list(deps, order, 'its quote has bought the request by another transaction');
}

/** The buyer paid an expired quote: the payment is recorded as unmatched and buys nothing. */
export function listLate(deps: PurchaseDeps, order: Order): Promise<SaleOutcome> {
  return list(deps, order, 'it was shown after its quote had expired');
}

/** The buyer's own transaction breaks the rules, but paid: it is recorded as unmatched and buys nothing. */
export async function listBroken(
  deps: PurchaseDeps,
  order: Order,
  { received, refusal }: Extract<Flaw, { kind: 'broken' }>,
): Promise<SaleOutcome> {
  const { amount } = order.terms;
  const { payment } = await list(
    deps,
    order,
    `${received} of ${amount} base units arrived: ${refusal.message}`,
  );
  const { signature } = payment;
  return received < amount && signature !== null ? { kind: 'short', payment, signature, received } : refusal;
}

async function list(
  { ledger }: PurchaseDeps,
  order: Order,
  reason: string,
): Promise<Extract<SaleOutcome, { kind: 'duplicate' }>> {
  const { request: _request, caller, ...row } = rowOf(order, order.shownIn ?? 0n);
  await ledger.payments.listUnmatched({ ...row, caller: { ...caller, identifier: null }, reason });
  const payment = await ledger.payments.get(row.id);
  return { kind: 'duplicate', payment, signature: order.payment.signature };
}

/** Calls the upstream before settlement, and stores its response. Null, or the outcome if nothing can be sold. */
export async function askFirst(
  { upstream, ledger }: PurchaseDeps,
  { route, request }: Order,
  id: string,
): Promise<SaleOutcome | null> {
  if (request === null) return null;
  const answer = await upstream(askedOf(request, id), boundsOf(route));
  if (answer.kind === 'whole' && answer.answer.status < 400) {
    await ledger.obligations.hold(id, answer.answer);
    return null;
  }
  if (answer.kind === 'large') answer.discard();
  const reason =
    answer.kind === 'large'
      ? 'its answer is too large to be held back'
      : 'the upstream has no answer to sell';
  try {
    await ledger.settlements.cancel(id, { code: 'not_served', message: reason });
  } catch (error) {
    // Settlement has begun: the buyer is served as on any other route.
    if (isDomainError(error, 'NotCancellable')) return null;
    throw error;
  }
  return { kind: 'unsettled', reason, answer: answer.kind === 'whole' ? answer : null };
}
