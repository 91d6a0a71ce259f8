import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { signatureOf } from '../record.ts';
import type { FacilitatorDeps } from './deps.ts';
import { refusalOf } from './record.ts';
import type { Settled } from './settle.ts';

export interface Caller {
  /** Hash of its Idempotency-Key; null without one. */
  readonly key: string | null;
  /** True if its connection is closed, so that it cannot receive a response. */
  readonly isGone: () => boolean;
}

/** Lease for the delivery of a success. After it another caller may claim the success. */
const DELIVERY_MS = 30_000;
const LOOK_MS = 100;
/** Minimum timeout of the first `reach` call: a recorded payment needs a workflow even if the caller's time is over. */
const FIRST_MS = 1_000;

/** Waits, until `end`, for a confirmed payment whose success is claimed here or delivered to another caller. */
export async function follow(
  deps: FacilitatorDeps,
  opened: PaymentRow,
  caller: Caller,
  end: number,
): Promise<Settled> {
  const { id, payer } = opened;
  const holder = randomUUID();
  let failure: unknown = null;
  for (let look = 0; ; look += 1) {
    if (look > 1) await sleep(LOOK_MS);
    const payment = await deps.ledger.payments.get(id);
    const settled = payment.state === 'settling' ? null : await outcome(deps, payment, caller, holder);
    if (settled !== null) return settled;
    const leftMs = Math.max(end - performance.now(), look === 0 ? FIRST_MS : 0);
    if (leftMs <= 0 || (look > 0 && caller.isGone())) break;
    if (payment.state === 'settling')
      failure = await deps.runs.reach(id, 'confirmed', Math.ceil(leftMs)).then(
        () => null,
        (error: unknown) => error,
      );
  }
  if (failure !== null) deps.warn(failure, `payment ${id} is not seen to settle yet`);
  return { kind: 'pending', payer, signature: await signatureOf(deps.ledger, opened) };
}

/** Null if another caller has the lease, so that this one must wait, or if its connection is closed. */
async function outcome(
  deps: FacilitatorDeps,
  payment: PaymentRow,
  { key, isGone }: Caller,
  holder: string,
): Promise<Settled | null> {
  const { id } = payment;
  const signature = await signatureOf(deps.ledger, payment);
  const refusal = await refusalOf(deps, payment, key);
  if (refusal !== null) return { ...refusal, kind: 'failed', signature };
  if (signature === null || isGone()) return null;
  const claimed = await deps.ledger.obligations.claim(id, { holder, key, ms: DELIVERY_MS });
  return claimed === 'yours' ? { kind: 'success', payment, signature, holder } : null;
}
