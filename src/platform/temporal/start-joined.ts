import type { Client, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';

const START_DEADLINE_MS = 10_000;

/** A run of which one goes on at a time. */
interface Joined {
  readonly type: string;
  /** Default: that of all workflows but the quick ones. */
  readonly taskQueue?: string;
  readonly workflowId: string;
  readonly args: readonly unknown[];
  /** One line for the Web UI's list. */
  readonly summary: string;
  /** More for people to read. */
  readonly details?: string;
}

/**
 * Starts a run, whatever became of the earlier ones; one of this workflow id that goes on is joined.
 *
 * @throws ServiceError of the Temporal client when the server does not answer in 10 s
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
