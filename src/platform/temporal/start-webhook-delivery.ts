import type { Client } from '@temporalio/client';
import { WORKFLOW_TASK_QUEUE, webhookWorkflowId } from '../../domain/ids.ts';
import type { DeliveryLine, Patience } from '../../domain/webhook.ts';
import { wakeDelivery } from '../../workflows/messages.ts';

const START_DEADLINE_MS = 10_000;

/**
 * Wakes or starts the workflow of a line, so that it checks the line after this call. A workflow cannot miss the
 * signal by completing: Temporal rejects a completion with an unprocessed signal.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export async function startWebhookDelivery(
  client: Client,
  { endpoint, entity }: DeliveryLine,
  patience: Patience,
): Promise<void> {
  const line = { endpoint, entity };
  await client.withDeadline(Date.now() + START_DEADLINE_MS, () =>
    client.workflow.signalWithStart('webhookDelivery', {
      workflowId: webhookWorkflowId(line),
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [{ ...line, patience }],
      signal: wakeDelivery,
      signalArgs: [],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `tell ${endpoint} of ${entity}`,
      staticDetails: `\`sluice webhooks deliveries ${endpoint}\` lists the waiting events, with \`--state dead\` the dead ones`,
    }),
  );
}
