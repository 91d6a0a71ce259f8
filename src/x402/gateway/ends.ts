import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { signatureOf, voidReason } from '../record.ts';
import type { PurchaseDeps } from './order.ts';
import type { SaleOutcome } from './outcome.ts';

type Records = Pick<PurchaseDeps, 'ledger'>;

export async function voided({ ledger }: Records, payment: PaymentRow): Promise<SaleOutcome> {
  const cause = await voidReason(ledger, payment.id);
  return { kind: 'void', ...cause, signature: await signatureOf(ledger, payment), payer: payment.payer };
}

export async function pending({ ledger }: Records, payment: PaymentRow): Promise<SaleOutcome> {
  return { kind: 'pending', signature: await signatureOf(ledger, payment), payer: payment.payer };
}
