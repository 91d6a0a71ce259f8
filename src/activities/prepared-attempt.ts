import type { PreparedAttempt } from '../domain/steps.ts';
import type { AttemptRow } from '../ledger/attempts.ts';

/** The part of an attempt row that a workflow history may hold. */
export function preparedAttempt(row: AttemptRow): PreparedAttempt {
  return {
    n: row.n,
    message: row.message,
    signature: row.signature,
    maxFeeLamports: row.feeLamports.toString(),
  };
}
