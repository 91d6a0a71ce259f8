import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { PreparedAttempt, SettlementState } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type AttemptRow, POSSIBLY_PAID_STATES } from '../ledger/settlements/attempt-row.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kind } from './kind.ts';

/** State that earlier runs left. `attempt` is null if there is none, or if the attempt must no longer be signed. */
export async function stateOf(
  ledger: Ledger,
  settlement: SettlementRow,
  kind: Pick<Kind, 'tasks'> = {},
): Promise<SettlementState> {
  const { id, status, reason } = settlement;
  const attempt = await preparationOf(kind, settlement, await ledger.attempts.of(id));
  // An unsigned attempt is never signed after a dead attempt has paid.
  const goesOn = attempt?.signature !== null || !isPaidByDead(settlement);
  return { status, reason, attempt: goesOn ? attempt : null };
}

/** Holds the settlement with this reason. Does not change its attempts, or a settlement that has ended. */
export async function holdUnlessEnded(ledger: Ledger, id: string, reason: StatusReason): Promise<void> {
  try {
    await ledger.settlements.move(id, 'held', reason);
  } catch (error) {
    if (!isDomainError(error, 'IllegalTransition')) throw error;
  }
}

/**
 * The attempt that has paid or can land, of which there is at most one. For a failed settlement, the attempt that
 * failed.
 */
function currentAttempt({ status }: SettlementRow, rows: readonly AttemptRow[]): AttemptRow | null {
  const current = rows.find(({ state }) => POSSIBLY_PAID_STATES.includes(state));
  return current ?? (status === 'failed' ? rows.findLast(({ state }) => state === 'failed') : null) ?? null;
}

/** The part of {@link currentAttempt} that a workflow history may contain, with the signing tasks that are still open. */
export async function preparationOf(
  kind: Pick<Kind, 'tasks'>,
  settlement: SettlementRow,
  rows: readonly AttemptRow[],
): Promise<PreparedAttempt | null> {
  const current = currentAttempt(settlement, rows);
  if (current === null) return null;
  const prepared = preparedOf(current);
  const tasks = current.state === 'prepared' ? await kind.tasks?.(settlement, current) : undefined;
  if (tasks === undefined) return prepared;
  const missing = current.signatures.filter((signature) => signature === null).length;
  return { ...prepared, tasks, ...(missing > tasks.length ? { isAwaited: true } : {}) };
}

/** The part of an attempt that a workflow history may contain. */
export function preparedOf(attempt: PreparedColumns): PreparedAttempt {
  const { n, message, signature, feeLamports, rentLamports, createsAccount, nonceAccount } = attempt;
  return {
    n,
    message,
    signature,
    maxFeeLamports: feeLamports.toString(),
    maxRentLamports: rentLamports.toString(),
    createsAccount,
    ...(nonceAccount === null ? {} : { nonceAccount }),
  };
}

type PreparedColumns = Pick<
  AttemptRow,
  'n' | 'message' | 'signature' | 'feeLamports' | 'rentLamports' | 'createsAccount' | 'nonceAccount'
>;

/** Failure for an expected wait: Temporal retries the activity after `delayMs`, and does not log an error. */
export function retryLater(code: string, message: string, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: code,
    nextRetryDelay: delayMs,
    category: ApplicationFailureCategory.BENIGN,
  });
}
