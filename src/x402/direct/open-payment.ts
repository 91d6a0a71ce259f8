import type { NewPayment, OpenResult } from '../../ledger/x402/payments.ts';
import type { PurchaseDeps } from '../purchase.ts';
import { timed } from '../timed.ts';

export type PaymentOpening =
  | OpenResult
  /** The x402 worker has stored and settled the payment, and a node reports it as confirmed. */
  | { readonly kind: 'paid'; readonly signature: string }
  /** Nothing is stored, because of a pause, a restored database or an alert. */
  | { readonly kind: 'stopped' };

/**
 * Opens a payment. With `isDirect`, the x402 worker opens, signs and sends it, if it can. A payment that is stored with
 * our own lease was opened by that worker before the call failed.
 */
export async function openPayment(
  { ledger, direct, observe }: Pick<PurchaseDeps, 'ledger' | 'direct' | 'observe'>,
  payment: NewPayment,
  isDirect: boolean,
): Promise<PaymentOpening> {
  const outcome = isDirect ? await direct?.settle(payment) : undefined;
  if (outcome?.kind === 'stopped') return outcome;
  if (outcome?.kind === 'settled') {
    const { status, signature } = outcome;
    const isPaid = status === 'confirmed' || status === 'finalized';
    if (isPaid && signature !== null) return { kind: 'paid', signature };
    return { kind: 'opened', payment: await ledger.payments.get(payment.id) };
  }
  const opened = await timed(observe, 'record', () => ledger.payments.open(payment));
  if (opened.kind === 'known' && opened.payment.leaseHolder === payment.lease.holder)
    return { kind: 'opened', payment: opened.payment };
  return opened;
}
