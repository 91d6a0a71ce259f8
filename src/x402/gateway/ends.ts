import type { PaymentRow } from '../../ledger/payments.ts';
import type { PurchaseDeps } from './order.ts';
import type { Outcome } from './outcome.ts';

type Records = Pick<PurchaseDeps, 'ledger'>;

/** The outcome of a payment that moved no money. */
export async function voided(records: Records, payment: PaymentRow): Promise<Outcome> {
  const { status, reason } = await records.ledger.settlements.get(payment.id);
  const code = status === 'dead' ? 'payment_expired' : 'invalid_exact_svm_transaction_failed';
  const message = reason?.message ?? `the payment is ${status}`;
  const signature = await signatureOf(records, payment);
  return { kind: 'void', reason: code, message, signature, payer: payment.payer };
}

/** The outcome of one that is undecided. */
export async function pending(records: Records, payment: PaymentRow): Promise<Outcome> {
  return { kind: 'pending', signature: await signatureOf(records, payment), payer: payment.payer };
}

/** base58; null until the fee payer has signed. */
export async function signatureOf(
  { ledger }: Records,
  { id, signature }: PaymentRow,
): Promise<string | null> {
  return signature ?? (await ledger.attempts.of(id)).at(-1)?.signature ?? null;
}
