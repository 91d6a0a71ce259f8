import { expect, it } from 'vitest';
import type { PaymentRow } from '../../../src/ledger/x402/payments.ts';
import { answerOutcome } from '../../../src/x402/gateway/answers.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { newPayment } from '../../ledger/new-payment.ts';

it('a payment that cannot be served is described by its state', async () => {
  const detailsOf = async (state: PaymentRow['state']) => {
    const payment = { ...newPayment(), state } as unknown as PaymentRow;
    const outcome = {
      kind: 'refundable' as const,
      payment,
      signature: 'sig',
      reason: 'a reason',
      answer: null,
    };
    const askToPay = () => expect.fail('a paid request gets no terms');
    const shown = { network: NETWORKS.localnet, askToPay, explorerUrl: String, accessPass: null };
    const presented = { dialect: 'v2' as const, ...shown };
    const { body } = await answerOutcome(outcome, presented);
    return JSON.parse(typeof body === 'string' ? body : '{}').details;
  };
  expect(await detailsOf('refundable')).toBe('the payment is recorded as refundable');
  expect(await detailsOf('unmatched')).toBe('the payment is recorded as unmatched');
});
