import { isCancellation, rootCause } from '@temporalio/workflow';
import { isTerminal, type StatusReason } from '../domain/settlement.ts';
import type { Landing, PreparedAttempt, SettlementState, SignedStep, SigningTask } from '../domain/steps.ts';
import * as act from './activity-proxies.ts';
import type { SettlementProgress } from './settlement-progress.ts';

export interface SettlementSteps {
  /** Prepares the next attempt and stores it in the progress. Null if no attempt can be sent now. */
  readonly prepare: () => Promise<PreparedAttempt | null>;
  /** Signing tasks for the missing signatures that Sluice makes, the fee payer's last. */
  readonly tasksOf: (attempt: PreparedAttempt) => readonly SigningTask[];
  readonly hold: (reason: StatusReason) => Promise<SettlementState>;
  /** Waits until the attempt has landed or can no longer land. Default: `landAttempt`. */
  readonly land?: (attempt: SignedStep) => Promise<Landing>;
}

/**
 * Prepares, signs and lands attempts, one after another, until the settlement has ended. At most one attempt can land.
 * Returns early if the history is long, so that the caller continues as new.
 */
export async function settle(progress: SettlementProgress, steps: SettlementSteps): Promise<void> {
  const { land = act.landAttempt } = steps;
  while (!isTerminal(progress.status) && !progress.isHistoryLong) {
    const attempt = progress.attempt ?? (await steps.prepare());
    if (attempt === null) continue;
    const signature = await signatureOf(progress, steps, attempt);
    if (signature === null) continue;
    progress.recordSignature(signature);
    const landing = await progress.unlessHistoryLong(land({ id: progress.id, n: attempt.n, signature }));
    if (landing !== null) progress.recordLanding(landing);
  }
}

/**
 * Gets the missing signatures and returns the fee payer's, which the landing activity stores. Null if the attempt must
 * not be sent now, because the settlement has ended or signers outside Sluice were awaited.
 */
async function signatureOf(
  progress: SettlementProgress,
  steps: SettlementSteps,
  attempt: PreparedAttempt,
): Promise<string | null> {
  const { id } = progress;
  const { n, signature, isAwaited = false } = attempt;
  const store = (other: string) => act.storeSignature({ id, n, signature: other });
  const payerSignature = await signAll(signature, steps.tasksOf(attempt), {
    sign: (task) => signOrHold(progress, steps, task),
    store,
  });
  if (!isAwaited || isTerminal(progress.status)) return payerSignature;
  if (payerSignature !== null) await store(payerSignature);
  progress.resume(await act.awaitSignatures({ id, n }));
  return null;
}

/**
 * Returns the signature; null if the settlement has ended. If the signer refuses, which means tampering or a defect,
 * holds the settlement and fails the run.
 */
async function signOrHold(
  progress: SettlementProgress,
  { hold }: SettlementSteps,
  task: SigningTask,
): Promise<string | null> {
  try {
    return (await act.signTransaction(task)).signature;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const message = rootCause(error) ?? 'the signer refused the transaction';
    progress.resume(await hold({ code: 'signing_refused', message }));
    if (isTerminal(progress.status)) return null;
    throw error;
  }
}

export interface SignatureHandlers {
  /** Returns the signature; null if there will be none. */
  readonly sign: (task: SigningTask) => Promise<string | null>;
  /** Stores the signature of a signer other than the fee payer. */
  readonly store: (signature: string) => Promise<unknown>;
}

/**
 * Runs all `tasks`, stores the other signers' signatures, and returns the fee payer's. `signature`: the fee payer's
 * signature if it exists already; otherwise its task is the last. Null if a signature will not be made, or if the fee
 * payer's is made outside Sluice.
 */
export async function signAll(
  signature: string | null,
  tasks: readonly SigningTask[],
  { sign, store }: SignatureHandlers,
): Promise<string | null> {
  const payerTask = signature === null ? tasks.at(-1) : undefined;
  for (const task of payerTask === undefined ? tasks : tasks.slice(0, -1)) {
    const otherSignature = await sign(task);
    if (otherSignature === null) return null;
    await store(otherSignature);
  }
  return payerTask === undefined ? signature : sign(payerTask);
}
