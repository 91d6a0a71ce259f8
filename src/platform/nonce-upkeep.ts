import type { Client, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { nonceUpkeepWorkflowId } from '../domain/ids.ts';
import type { NonceUpkeepEnd, NonceUpkeepRequest } from '../domain/steps.ts';
import { startJoined } from './start-joined.ts';

/**
 * Has a nonce account made, or a nonce used up, and waits for the end of that; the same again joins the run that is there. Null where
 * there was nothing to do.
 *
 * @throws ServiceError of the Temporal client when the server does not answer in 10 s
 */
export async function runNonceUpkeep(
  client: Client,
  request: NonceUpkeepRequest,
): Promise<NonceUpkeepEnd | null> {
  const handle = await startNonceUpkeep(client, request);
  return (await handle.result()) as NonceUpkeepEnd | null;
}

/** {@link runNonceUpkeep} without the wait. */
export function startNonceUpkeep(
  client: Client,
  request: NonceUpkeepRequest,
): Promise<WorkflowHandleWithStartDetails> {
  return startJoined(client, {
    type: 'nonceUpkeep',
    workflowId: nonceUpkeepWorkflowId(request),
    args: [request],
    summary: `${request.kind} nonce account ${request.address}`,
  });
}
