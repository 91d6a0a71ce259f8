import type { Client, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { QUICK_TASK_QUEUE, settlementWorkflowId, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';
import { type AwaitedCommitment, settlementId } from '../../domain/settlement.ts';
import type { SettlementEnd } from '../../domain/steps.ts';
import { startJoined } from './start-joined.ts';

/** A stored settlement of a kind without its own workflow type. */
export interface NamedSettlement {
  readonly kind: string;
  readonly subjectId: string;
}

const ORDINARY = { type: 'settlement', taskQueue: WORKFLOW_TASK_QUEUE };
const QUICK = { type: 'x402Settlement', taskQueue: QUICK_TASK_QUEUE };

/**
 * Starts or joins the workflow of a settlement, whatever the result of earlier runs. Kinds whose callers wait for
 * `confirmed` use the quick workflow.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export function startSettlement(
  client: Client,
  named: NamedSettlement,
  answersAt: AwaitedCommitment = 'finalized',
): Promise<WorkflowHandleWithStartDetails> {
  const { kind, subjectId } = named;
  return startJoined(client, {
    ...(answersAt === 'confirmed' ? QUICK : ORDINARY),
    workflowId: settlementWorkflowId(named),
    args: [{ id: settlementId(kind, subjectId) }],
    summary: `${kind} ${subjectId}`,
  });
}

export async function runSettlement(client: Client, named: NamedSettlement): Promise<SettlementEnd> {
  const handle = await startSettlement(client, named);
  return (await handle.result()) as SettlementEnd;
}
