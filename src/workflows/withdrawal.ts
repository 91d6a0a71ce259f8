import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import { withdrawalWorkflowId } from '../domain/ids.ts';
import { isTerminal } from '../domain/settlement.ts';
import { WITHDRAWAL } from '../domain/settlement-kinds.ts';
import type { PreparedAttempt, SigningTask } from '../domain/steps.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import * as act from './activity-proxies.ts';
import type { SettlementView } from './messages.ts';
import { settle } from './settle.ts';
import { pinnedIfVersioned } from './versioning.ts';
import { WithdrawalProgress } from './withdrawal-progress.ts';

/**
 * Pays one withdrawal at most once. Completes when the withdrawal is finalized, rejected, cancelled or failed;
 * continues as new if the history is long. Runs only under the id `withdrawal/<terms.id>`. Every run of an id continues
 * from the attempts in PostgreSQL.
 *
 * @throws ApplicationFailure of type ForeignWorkflowId, InvalidRequest or TermsConflict, all before any effect.
 */
export async function withdrawal(terms: WithdrawalTerms): Promise<SettlementView> {
  refuseForeignId(terms);
  const progress = new WithdrawalProgress(terms);
  progress.resume(await act.admit(terms));

  await settle(progress, {
    prepare: () => prepareAttempt(progress),
    tasksOf: (attempt) => (attempt.signature === null ? [taskOf(progress, attempt)] : []),
    hold: (reason) => act.hold({ terms, reason }),
  });

  await condition(allHandlersFinished);
  if (!isTerminal(progress.status)) await continueAsNew<typeof withdrawal>(terms);
  return progress.view();
}
setWorkflowOptions(pinnedIfVersioned, withdrawal);

/** Prepares the next attempt; null if no attempt can be sent yet. Waits for the customer's confirmation if needed. */
async function prepareAttempt(progress: WithdrawalProgress): Promise<PreparedAttempt | null> {
  const { confirmationCount, terms, displayedStatus: shown } = progress;
  const prepared = await progress.unlessCancelled(act.prepareAttempt({ terms, shown }));
  if (prepared === null) return null;
  progress.recordPreparation(prepared);
  if (progress.status === 'awaiting_confirmation') await progress.waitForCustomer(confirmationCount);
  return progress.attempt;
}

/** The signing task for an attempt. Its terms are those that the run was started with. */
function taskOf({ terms }: WithdrawalProgress, attempt: PreparedAttempt): SigningTask {
  const { id, asset, amount, destination, memo } = terms;
  const { message, maxFeeLamports, maxRentLamports, createsAccount, nonceAccount } = attempt;
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const bounds = { maxFeeLamports, maxRentLamports, createsAccount, ...lifetime };
  const transfer = { withdrawalId: id, asset, amount, destination, memo: memo ?? null, ...bounds };
  return { kind: WITHDRAWAL, key: 'hot', message, terms: transfer };
}

/** Fails the run if it has no terms or a foreign workflow id. A failed workflow task would be retried without end. */
function refuseForeignId(terms: WithdrawalTerms | undefined): void {
  const { workflowId } = workflowInfo();
  if (typeof terms?.id !== 'string') {
    throw ApplicationFailure.nonRetryable(
      'the argument must be the terms of a withdrawal, with a string as id',
      'InvalidRequest',
    );
  }
  const expected = withdrawalWorkflowId(terms.id);
  if (workflowId === expected) return;
  const message = `workflow id ${workflowId} is not ${expected}: the workflow id of a withdrawal follows from its id`;
  throw ApplicationFailure.nonRetryable(message, 'ForeignWorkflowId');
}
