import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { describeAmount } from '../../domain/amount.ts';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../domain/ids.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION, SLUICE_STATUS } from '../../workflows/search-attributes.ts';

const START_DEADLINE_MS = 10_000;

/**
 * Ensures that the withdrawal's workflow is running or has completed; repeated calls start only one. A failed or
 * terminated workflow is started again and continues from the attempts in PostgreSQL. `ALLOW_DUPLICATE` also
 * restarts a completed one, for callers that know that the withdrawal is unfinished in the database.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export async function startWithdrawal(
  client: Client,
  terms: WithdrawalTerms,
  reuse: 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE' = 'ALLOW_DUPLICATE_FAILED_ONLY',
): Promise<void> {
  try {
    await client.withDeadline(Date.now() + START_DEADLINE_MS, () =>
      client.workflow.start('withdrawal', {
        workflowId: withdrawalWorkflowId(terms.id),
        taskQueue: WORKFLOW_TASK_QUEUE,
        args: [terms],
        workflowTaskTimeout: TIMEOUTS.workflowTaskMs,
        workflowIdReusePolicy: reuse,
        workflowIdConflictPolicy: 'USE_EXISTING',
        staticSummary: summaryOf(terms),
        typedSearchAttributes: [
          { key: SLUICE_STATUS, value: 'requested' },
          { key: SLUICE_ASSET, value: terms.asset },
          { key: SLUICE_DESTINATION, value: terms.destination },
        ],
      }),
    );
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** `withdraw 1.5 SOL to 9xQe…VFin`. Tokens in base units: only the chain knows the decimals. */
function summaryOf(terms: WithdrawalTerms): string {
  return `withdraw ${describeAmount(terms, shorten(terms.asset))} to ${shorten(terms.destination)}`;
}

function shorten(address: string): string {
  return address.length <= 12 ? address : `${address.slice(0, 4)}…${address.slice(-4)}`;
}
