/** Reason codes of the x402 specification for scheme `exact` on Solana. */
export const REASONS = {
  feePayerNotManaged: 'invalid_exact_svm_fee_payer_not_managed_by_facilitator',
  feePayerMismatch: 'invalid_exact_svm_fee_payer_mismatch',
  undecodable: 'invalid_exact_svm_payload_transaction_could_not_be_decoded',
  signature: 'invalid_exact_svm_payload_signature_invalid',
  signers: 'invalid_exact_svm_payload_excessive_signers',
  length: 'invalid_exact_svm_payload_transaction_instructions_length',
  computeLimit: 'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction',
  computeLimitTooHigh:
    'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction_too_high',
  computePrice: 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction',
  computePriceTooHigh:
    'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high',
  noTransfer: 'invalid_exact_svm_payload_no_transfer_instruction',
  feePayerPays: 'invalid_exact_svm_payload_transaction_fee_payer_transferring_funds',
  feePayerIncluded: 'invalid_exact_svm_payload_transaction_fee_payer_included_in_instruction_accounts',
  mint: 'invalid_exact_svm_payload_mint_mismatch',
  recipient: 'invalid_exact_svm_payload_recipient_mismatch',
  amount: 'invalid_exact_svm_payload_amount_mismatch',
  memoCount: 'invalid_exact_svm_payload_memo_count',
  memo: 'invalid_exact_svm_payload_memo_mismatch',
} as const;

/** A broken rule of a payment. `reason` is a code of the x402 specification. `checkWire` converts it to `Refused`. */
export class BrokenRule extends Error {
  override readonly name = 'BrokenRule';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** @throws BrokenRule */
export function refuse(reason: string, message: string): never {
  throw new BrokenRule(reason, message);
}

/** Codes that have no prefix in version 1. */
const UNPREFIXED: ReadonlySet<string> = new Set([
  'unsupported_scheme',
  'network_mismatch',
  'fee_payer_not_managed_by_facilitator',
  'transaction_simulation_failed',
  'verification_failed',
  'transaction_failed',
]);
const PREFIX = 'invalid_exact_svm_';

/** Converts a code of version 2 to version 1. Most codes are equal in both versions. */
export function reasonOfVersion1(reason: string): string {
  const unprefixed = reason.startsWith(PREFIX) ? reason.slice(PREFIX.length) : reason;
  return UNPREFIXED.has(unprefixed) ? unprefixed : reason;
}
