import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';

/** Well-formed terms of a withdrawal. */
export function terms(id: string, changes: Partial<WithdrawalTerms> = {}): WithdrawalTerms {
  return {
    id,
    asset: 'SOL',
    amount: '100',
    destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
    ...changes,
  };
}
