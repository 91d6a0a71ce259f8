import type { Client, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { settlementWorkflowId } from '../domain/ids.ts';
import { settlementId } from '../domain/settlement.ts';
import type { SettlementEnd } from '../domain/steps.ts';
import { startJoined } from './start-joined.ts';

/** A settlement on record, of a kind without a workflow of its own. */
export interface NamedSettlement {
  readonly kind: string;
  readonly subjectId: string;
}

/**
 * Starts the run of the settlement, whatever became of the earlier ones; one that goes on is joined.
 *
 * @throws ServiceError of the Temporal client when the server does not answer in 10 s
 */
export function startSettlement(
  client: Client,
  named: NamedSettlement,
): Promise<WorkflowHandleWithStartDetails> {
  const { kind, subjectId } = named;
  return startJoined(client, {
    type: 'settlement',
    workflowId: settlementWorkflowId(named),
    args: [{ id: settlementId(kind, subjectId) }],
    summary: `${kind} ${subjectId}`,
  });
}

/** {@link startSettlement}, and waits for the end. */
export async function runSettlement(client: Client, named: NamedSettlement): Promise<SettlementEnd> {
  const handle = await startSettlement(client, named);
  return (await handle.result()) as SettlementEnd;
}
