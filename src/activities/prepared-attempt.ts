import type { PreparedAttempt } from '../domain/steps.ts';
import type { AttemptRow } from '../ledger/attempts.ts';

/** The part of an attempt row that a workflow history may hold. */
export function preparedAttempt(row: AttemptRow): PreparedAttempt {
  return {
    n: row.n,
    message: row.message,
    signature: row.signature,
    maxFeeLamports: row.feeLamports.toString(),
    maxRentLamports: row.rentLamports.toString(),
    ...(row.nonceAccount === null ? {} : { nonceAccount: row.nonceAccount }),
  };
}

/** The attempt that counts: of all attempts of a withdrawal at most one is not dead. */
export function currentAttempt(rows: readonly AttemptRow[]): PreparedAttempt | null {
  const row = rows.find((attempt) => attempt.state !== 'dead');
  return row === undefined ? null : preparedAttempt(row);
}
