import { findValidator } from '../../devkit/localstack/validator.ts';

/** Whether solana-test-validator is on PATH. */
export function hasValidator(): boolean {
  try {
    return findValidator(process.env) !== '';
  } catch {
    return false;
  }
}
