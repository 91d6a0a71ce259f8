import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  isCancellation,
  rootCause,
  workflowInfo,
} from '@temporalio/workflow';
import { withdrawalWorkflowId } from '../domain/ids.ts';
import type { PreparedAttempt, SigningTask } from '../domain/steps.ts';
import { isTerminal, type WithdrawalTerms } from '../domain/withdrawal.ts';
import * as act from './activities.ts';
import type { WithdrawalView } from './messages.ts';
import { WithdrawalProgress } from './withdrawal-progress.ts';

/**
 * Pays one withdrawal at most once and ends when it is finalized, rejected, cancelled or failed.
 * Runs only under the id `withdrawal/<terms.id>`; any number of runs of one id go on from the attempts in Postgres.
 *
 * @throws ApplicationFailure of type ForeignWorkflowId, InvalidRequest or TermsConflict, all before any effect.
 */
export async function withdrawal(terms: WithdrawalTerms): Promise<WithdrawalView> {
  refuseForeignId(terms);
  const progress = new WithdrawalProgress(terms);
  progress.stand(await act.admit(terms));

  while (!isTerminal(progress.status)) {
    const attempt = progress.attempt ?? (await prepareAttempt(progress));
    if (attempt === null) continue;
    await payAttempt(progress, attempt);
  }

  await condition(allHandlersFinished);
  return progress.view();
}

/**
 * Composes the next attempt, waiting for the customer's word, for funds or for the end of a pause as long as that takes; null
 * where there is none to pay.
 */
async function prepareAttempt(progress: WithdrawalProgress): Promise<PreparedAttempt | null> {
  const { answers, terms, shown } = progress;
  const prepared = await progress.unlessCancelled(act.prepareAttempt({ terms, shown }));
  if (prepared === 'cancelled') return null;
  progress.prepared(prepared);
  if (progress.status === 'awaiting_confirmation') await progress.customerAnswered(answers);
  return progress.attempt;
}

/** Has the attempt signed where it is not yet, then keeps its bytes on the way until the chain has judged it. */
async function payAttempt(progress: WithdrawalProgress, attempt: PreparedAttempt): Promise<void> {
  const { id, asset, amount, destination, memo } = progress.terms;
  const { n, message, maxFeeLamports, maxRentLamports, nonceAccount } = attempt;
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const bounds = { maxFeeLamports, maxRentLamports, ...lifetime };
  const task = { withdrawalId: id, message, asset, amount, destination, memo: memo ?? null, ...bounds };
  const signature = attempt.signature ?? (await signOrHold(progress, task));
  if (signature === null) return;
  progress.signed(signature);
  progress.landed(await act.landAttempt({ id, n, signature }));
}

/**
 * A refusal of the signer means tampering or a defect: the withdrawal is held on record and the run fails for people to see.
 * Null where the record has an end already, which then is this run's end too.
 */
async function signOrHold(progress: WithdrawalProgress, task: SigningTask): Promise<string | null> {
  try {
    return (await act.signTransaction(task)).signature;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const message = rootCause(error) ?? 'the signer refused';
    progress.stand(await act.hold({ terms: progress.terms, reason: { code: 'signing_refused', message } }));
    if (isTerminal(progress.status)) return null;
    throw error;
  }
}

/** A start without terms must fail the run, not the task: a task is tried again for ever. */
function refuseForeignId(terms: WithdrawalTerms | undefined): void {
  const { workflowId } = workflowInfo();
  if (typeof terms?.id !== 'string') {
    throw ApplicationFailure.nonRetryable(
      'id must be a string: the one argument is the terms',
      'InvalidRequest',
    );
  }
  const expected = withdrawalWorkflowId(terms.id);
  if (workflowId === expected) return;
  const message = `workflow id ${workflowId} is not ${expected}: a withdrawal has one workflow id for ever`;
  throw ApplicationFailure.nonRetryable(message, 'ForeignWorkflowId');
}
