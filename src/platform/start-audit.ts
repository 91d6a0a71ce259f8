import type { Client } from '@temporalio/client';
import { type AuditOrder, auditWorkflowId } from '../domain/audit.ts';
import { WORKFLOW_TASK_QUEUE } from '../domain/ids.ts';

const START_DEADLINE_MS = 10_000;

/**
 * Starts an audit of one address, or of all; one of the same order that runs is joined. `details`: more for people to read.
 *
 * @throws ServiceError of the Temporal client when the server does not answer in 10 s
 */
export async function startAudit(
  client: Client,
  order: AuditOrder,
  details = '',
): Promise<{ readonly workflowId: string }> {
  const workflowId = auditWorkflowId(order);
  await client.withDeadline(Date.now() + START_DEADLINE_MS, () =>
    client.workflow.start('addressAudit', {
      workflowId,
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [order],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticDetails: details,
      staticSummary: `audit ${order.address ?? 'all addresses'} from slot ${order.from} to ${order.to}`,
    }),
  );
  return { workflowId };
}
