import { randomUUID } from 'node:crypto';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { type CheckedPayment, idOf, signatureOf } from '../record.ts';
import type { Refused } from '../terms.ts';
import { admit } from './admission.ts';
import type { Facilitator } from './facilitator.ts';
import { type Caller, follow } from './follow.ts';
import { refusalOf, rowOf } from './record.ts';
import type { FacilitatorRequest } from './request.ts';

/** Result of a settlement. `signature` is base58; null before the fee payer has signed. */
export type Settled =
  /** Returned to one caller only: see `Deliveries`. */
  | {
      readonly kind: 'success';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly holder: string;
    }
  | { readonly kind: 'pending'; readonly payer: string; readonly signature: string | null }
  | ({ readonly kind: 'failed'; readonly signature: string | null } & Refused);

const SETTLE_WITHIN_MS = 20_000;

/** Settles a payment once, however often it is presented, and returns its success to one caller. */
export async function settle(
  facilitator: Facilitator,
  request: FacilitatorRequest,
  caller: Caller,
): Promise<Settled> {
  const { deps, examiner } = facilitator;
  const examined = await examiner.examine(request);
  if (!examined.ok) return { ...examined, kind: 'failed', signature: null };
  const { order } = examined;
  const { settleWithinMs = SETTLE_WITHIN_MS } = deps;
  const end = performance.now() + Math.min(order.terms.maxTimeoutSeconds * 1_000, settleWithinMs);
  const known = await deps.ledger.payments.find(idOf(order));
  return known === undefined
    ? first(facilitator, order, caller, end)
    : again(facilitator, known, caller, end);
}

async function first(
  facilitator: Facilitator,
  order: CheckedPayment,
  caller: Caller,
  end: number,
): Promise<Settled> {
  const { payments } = facilitator.deps.ledger;
  const admission = await admit(facilitator, order);
  if (admission.kind === 'refused') return { ...admission, kind: 'failed', signature: null };
  if (admission.kind === 'landed') return landedBefore(facilitator, order, caller, end);
  // No caller has the lease before the payment is confirmed: the next call claims the success, even if this process
  // stopped.
  const lease = { holder: randomUUID(), ms: 0 };
  const opened = await payments.open({ ...rowOf(order, admission.slot), request: null, answer: null, lease });
  if (opened.kind === 'identifier-taken') throw new Error('a payment of the facilitator has no identifier');
  return again(facilitator, opened.payment, caller, end);
}

async function again(
  { deps }: Facilitator,
  known: PaymentRow,
  caller: Caller,
  end: number,
): Promise<Settled> {
  const refusal = await refusalOf(deps, known, caller.key);
  if (refusal === null) return follow(deps, known, caller, end);
  return { ...refusal, kind: 'failed', signature: await signatureOf(deps.ledger, known) };
}

/** Another call may have settled it. Otherwise the bytes may be copied from the chain: recorded as unmatched. */
async function landedBefore(
  facilitator: Facilitator,
  order: CheckedPayment,
  caller: Caller,
  end: number,
): Promise<Settled> {
  const { payments } = facilitator.deps.ledger;
  const reason = 'it was on the chain before it was shown to this facilitator';
  await payments.listUnmatched({ ...rowOf(order, 0n), reason: reason });
  const settled = await again(facilitator, await payments.get(idOf(order)), caller, end);
  const { signature } = order.payment;
  return settled.kind === 'failed' ? { ...settled, signature: settled.signature ?? signature } : settled;
}
