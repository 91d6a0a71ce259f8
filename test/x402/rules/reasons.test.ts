import { describe, expect, it } from 'vitest';
import { REASONS, reasonOfVersion1 } from '../../../src/x402/rules/reasons.ts';

describe('the reason code in version 1', () => {
  it.each([
    ['invalid_exact_svm_unsupported_scheme', 'unsupported_scheme'],
    ['invalid_exact_svm_network_mismatch', 'network_mismatch'],
    [REASONS.feePayerNotManaged, 'fee_payer_not_managed_by_facilitator'],
    ['invalid_exact_svm_transaction_simulation_failed', 'transaction_simulation_failed'],
    ['invalid_exact_svm_verification_failed', 'verification_failed'],
    ['invalid_exact_svm_transaction_failed', 'transaction_failed'],
  ])('of %s is %s', (code, code1) => {
    expect(reasonOfVersion1(code)).toBe(code1);
  });

  it('is otherwise that of version 2', () => {
    for (const code of [REASONS.amount, REASONS.feePayerMismatch, 'duplicate_settlement'])
      expect(reasonOfVersion1(code)).toBe(code);
  });
});
