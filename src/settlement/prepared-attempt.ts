import type { PreparedAttempt } from '../domain/steps.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { SettlementRow } from '../ledger/settlements.ts';
import type { Kind } from './kind.ts';

/** The part of an attempt row that a workflow history may hold. */
function preparedAttempt(row: AttemptRow): PreparedAttempt {
  const { createsAccount = null } = row;
  return {
    n: row.n,
    message: row.message,
    signature: row.signature,
    maxFeeLamports: row.feeLamports.toString(),
    maxRentLamports: row.rentLamports.toString(),
    ...(createsAccount === null ? {} : { createsAccount }),
    ...(row.nonceAccount === null ? {} : { nonceAccount: row.nonceAccount }),
  };
}

/** The attempt that counts: of all attempts of a settlement at most one is not dead. */
function currentAttempt(rows: readonly AttemptRow[]): AttemptRow | null {
  return rows.find((attempt) => attempt.state !== 'dead') ?? null;
}

/** {@link currentAttempt} for the history, with what keys of ours are still to sign of it. */
export async function preparationOf(
  kind: Pick<Kind, 'tasks'>,
  settlement: SettlementRow,
  rows: readonly AttemptRow[],
): Promise<PreparedAttempt | null> {
  const current = currentAttempt(rows);
  if (current === null) return null;
  const prepared = preparedAttempt(current);
  const tasks = current.state === 'prepared' ? await kind.tasks?.(settlement, current) : undefined;
  if (tasks === undefined) return prepared;
  const missing = current.signatures.filter((signature) => signature === null).length;
  return { ...prepared, tasks, ...(missing > tasks.length ? { isAwaited: true } : {}) };
}
