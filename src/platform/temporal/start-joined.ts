import type { Client, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';

const START_DEADLINE_MS = 10_000;

/** A workflow with at most one run at a time. */
interface Joined {
  readonly type: string;
  /** Default: the queue of all workflows except quick settlements. */
  readonly taskQueue?: string;
  readonly workflowId: string;
  readonly args: readonly unknown[];
  readonly summary: string;
  readonly details?: string;
}

/**
 * Starts a workflow, whatever the result of earlier runs, or joins a running one with this id.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export function startJoined(
  client: Client,
  { type, taskQueue = WORKFLOW_TASK_QUEUE, workflowId, args, summary, details }: Joined,
): Promise<WorkflowHandleWithStartDetails> {
  return client.withDeadline(Date.now() + START_DEADLINE_MS, () =>
    client.workflow.start(type, {
      workflowId,
      taskQueue,
      args: [...args],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: summary,
      ...(details === undefined ? {} : { staticDetails: details }),
    }),
  );
}
