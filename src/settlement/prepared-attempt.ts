import type { PreparedAttempt } from '../domain/steps.ts';
import { type AttemptRow, MAY_HAVE_PAID } from '../ledger/settlements/attempt-row.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kind } from './kind.ts';

/** The part of an attempt row that a workflow history may contain. */
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

/** The attempt that has paid or may land; at most one exists. For a failed settlement, the attempt that failed. */
function currentAttempt({ status }: SettlementRow, rows: readonly AttemptRow[]): AttemptRow | null {
  const current = rows.find(({ state }) => MAY_HAVE_PAID.includes(state));
  return current ?? (status === 'failed' ? rows.findLast(({ state }) => state === 'failed') : null) ?? null;
}

/** {@link currentAttempt} for the workflow, with the signing tasks that are still open. */
export async function preparationOf(
  kind: Pick<Kind, 'tasks'>,
  settlement: SettlementRow,
  rows: readonly AttemptRow[],
): Promise<PreparedAttempt | null> {
  const current = currentAttempt(settlement, rows);
  if (current === null) return null;
  const prepared = preparedAttempt(current);
  const tasks = current.state === 'prepared' ? await kind.tasks?.(settlement, current) : undefined;
  if (tasks === undefined) return prepared;
  const missing = current.signatures.filter((signature) => signature === null).length;
  return { ...prepared, tasks, ...(missing > tasks.length ? { isAwaited: true } : {}) };
}
