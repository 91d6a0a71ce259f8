import type { CheckedPayment } from '../record.ts';
import type { Refused } from '../terms.ts';
import { UNAVAILABLE } from './examiner.ts';
import type { Facilitator } from './facilitator.ts';
import { routeOf } from './record.ts';

/** `landed`: the transaction is already on chain. */
export type Admission =
  | { readonly kind: 'admitted'; readonly slot: bigint }
  | { readonly kind: 'landed' }
  | ({ readonly kind: 'refused' } & Refused);

/** Checks the budgets and simulates once, for a payment that is not recorded. Settles nothing. */
export async function admit(
  { budgets, simulations }: Pick<Facilitator, 'budgets' | 'simulations'>,
  order: CheckedPayment,
): Promise<Admission> {
  const { payment, terms } = order;
  const { payer } = payment;
  const over = await budgets.refusal(payment, routeOf(terms));
  if (over !== null) return { kind: 'refused', reason: UNAVAILABLE, message: over, payer };
  const trial = await simulations.of(order);
  switch (trial.kind) {
    case 'accepted':
      return { kind: 'admitted', slot: trial.slot };
    case 'landed':
      return { kind: 'landed' };
    case 'unanswered': {
      const message = `no node can simulate the payment now: ${trial.reason}`;
      return { kind: 'refused', reason: UNAVAILABLE, message, payer };
    }
    case 'expired':
      return { kind: 'refused', reason: 'payment_expired', message: trial.reason, payer };
    case 'failed': {
      const reason = 'invalid_exact_svm_transaction_simulation_failed';
      return { kind: 'refused', reason, message: trial.error, payer };
    }
  }
}
