import { isCancellation, rootCause } from '@temporalio/workflow';
import { isTerminal, type StatusReason } from '../domain/settlement.ts';
import type { Landing, PreparedAttempt, SettlementState, SignedStep, SigningTask } from '../domain/steps.ts';
import * as act from './activity-proxies.ts';
import type { SettlementProgress } from './settlement-progress.ts';

export interface SettlementSteps {
  /** Prepares the next attempt and adds it to the progress. Null if there is none to pay now. */
  readonly prepare: () => Promise<PreparedAttempt | null>;
  /** Signing tasks for our missing signatures, the fee payer's last. */
  readonly tasksOf: (attempt: PreparedAttempt) => readonly SigningTask[];
  readonly hold: (reason: StatusReason) => Promise<SettlementState>;
  /** Waits for the landing. Default: on the chain workers. */
  readonly land?: (attempt: SignedStep) => Promise<Landing>;
}

/**
 * Prepares, signs and lands attempts until the settlement has ended: at most one of them can ever land.
 * Returns early if the history is long; the caller continues as new.
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
 * Gets the missing signatures; returns the fee payer's, which the landing stores. Null if the attempt must
 * not be sent now: the settlement has ended, or other signers were awaited.
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
 * A refusal of the signer means tampering or a defect: holds the settlement and fails the run. Null if the
 * settlement has ended.
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
    const message = rootCause(error) ?? 'the signer refused';
    progress.resume(await hold({ code: 'signing_refused', message }));
    if (isTerminal(progress.status)) return null;
    throw error;
  }
}

export interface SignatureHandlers {
  /** Null if no signature will come. */
  readonly sign: (task: SigningTask) => Promise<string | null>;
  /** Stores the signature of a signer other than the fee payer. */
  readonly store: (signature: string) => Promise<unknown>;
}

/**
 * Returns the fee payer's signature; `signature` if it exists already. Runs all `tasks`, the fee payer's last, and
 * stores the other signatures. Null if a signature will not come, or if another signer provides the fee payer's.
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
