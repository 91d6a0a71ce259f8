import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandleWithStartDetails,
} from '@temporalio/client';
import { describeAmount } from '../../domain/amount.ts';
import { type BackfillOrder, backfillWorkflowId, isOfImport } from '../../domain/backfill.ts';
import {
  QUICK_TASK_QUEUE,
  settlementWorkflowId,
  WORKFLOW_TASK_QUEUE,
  webhookWorkflowId,
  withdrawalWorkflowId,
} from '../../domain/ids.ts';
import { type AwaitedCommitment, settlementId } from '../../domain/settlement.ts';
import type { SettlementEnd } from '../../domain/steps.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { DeliveryLine, Patience } from '../../domain/webhook.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { wakeDelivery } from '../../workflows/messages.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION, SLUICE_STATUS } from '../../workflows/search-attributes.ts';

// Every start throws a ServiceError of the Temporal client if the server does not answer in this time.
const START_DEADLINE_MS = 10_000;

/** Defaults: a new run whatever the result of earlier runs, on the queue of all workflows except quick settlements. */
const ONE_RUN = {
  taskQueue: WORKFLOW_TASK_QUEUE,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
} as const;

function inTime<T>(client: Client, start: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + START_DEADLINE_MS, start);
}

interface JoinOptions {
  readonly taskQueue?: string;
  readonly workflowId: string;
  readonly args: unknown[];
  readonly staticSummary: string;
  readonly staticDetails?: string;
}

/** Starts a workflow, whatever the result of earlier runs, or joins a running one with this id. */
function startOrJoin(
  client: Client,
  type: string,
  options: JoinOptions,
): Promise<WorkflowHandleWithStartDetails> {
  return inTime(client, () =>
    client.workflow.start(type, { ...ONE_RUN, ...options, workflowIdConflictPolicy: 'USE_EXISTING' }),
  );
}

/** A stored settlement of a kind without its own workflow type. */
export interface SettlementRef {
  readonly kind: string;
  readonly subjectId: string;
}

/** {@link startOrJoin} for a settlement. Kinds whose callers wait for `confirmed` use the quick workflow. */
export function startSettlement(
  client: Client,
  named: SettlementRef,
  answersAt: AwaitedCommitment = 'finalized',
): Promise<WorkflowHandleWithStartDetails> {
  const { kind, subjectId } = named;
  const isQuick = answersAt === 'confirmed';
  return startOrJoin(client, isQuick ? 'x402Settlement' : 'settlement', {
    ...(isQuick ? { taskQueue: QUICK_TASK_QUEUE } : {}),
    workflowId: settlementWorkflowId(named),
    args: [{ id: settlementId(kind, subjectId) }],
    staticSummary: `${kind} ${subjectId}`,
  });
}

export async function runSettlement(client: Client, named: SettlementRef): Promise<SettlementEnd> {
  const handle = await startSettlement(client, named);
  return (await handle.result()) as SettlementEnd;
}

/** Starts a backfill, or joins a running one of the same order. */
export async function startBackfill(client: Client, order: BackfillOrder): Promise<void> {
  const slots = `slots ${order.from} to ${order.to}`;
  await startOrJoin(client, 'backfill', {
    workflowId: backfillWorkflowId(order),
    args: [order],
    staticSummary: 'address' in order ? `audit ${order.address} over ${slots}` : `read ${slots} again`,
    staticDetails: isOfImport(order) ? 'imported with a past' : `by ${order.actor}: ${order.reason}`,
  });
}

/**
 * Ensures that the withdrawal's workflow is running or has completed; repeated calls start only one. A failed or
 * terminated workflow is started again and continues from the attempts in PostgreSQL. `ALLOW_DUPLICATE` also
 * restarts a completed one, for callers that know that the withdrawal is unfinished in the database.
 */
export async function startWithdrawal(
  client: Client,
  terms: WithdrawalTerms,
  reuse: 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE' = 'ALLOW_DUPLICATE_FAILED_ONLY',
): Promise<void> {
  try {
    await inTime(client, () =>
      client.workflow.start('withdrawal', {
        ...ONE_RUN,
        workflowId: withdrawalWorkflowId(terms.id),
        args: [terms],
        workflowTaskTimeout: TIMEOUTS.workflowTaskMs,
        workflowIdReusePolicy: reuse,
        workflowIdConflictPolicy: 'USE_EXISTING',
        // Tokens in base units: only the chain knows the decimals.
        staticSummary: `withdraw ${describeAmount(terms, shorten(terms.asset))} to ${shorten(terms.destination)}`,
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

function shorten(address: string): string {
  return address.length <= 12 ? address : `${address.slice(0, 4)}…${address.slice(-4)}`;
}

/**
 * Wakes or starts the workflow of a line, so that it checks the line after this call. A workflow cannot miss the
 * signal by completing: Temporal rejects a completion with an unprocessed signal.
 */
export async function startWebhookDelivery(
  client: Client,
  { endpoint, entity }: DeliveryLine,
  patience: Patience,
): Promise<void> {
  const line = { endpoint, entity };
  await inTime(client, () =>
    client.workflow.signalWithStart('webhookDelivery', {
      ...ONE_RUN,
      workflowId: webhookWorkflowId(line),
      args: [{ ...line, patience }],
      signal: wakeDelivery,
      signalArgs: [],
      staticSummary: `deliver ${entity} to ${endpoint}`,
      staticDetails: `\`sluice webhooks deliveries ${endpoint}\` lists the waiting events, with \`--state dead\` the dead ones`,
    }),
  );
}
