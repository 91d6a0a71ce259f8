import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandleWithStartDetails,
} from '@temporalio/client';
import { describeAmount } from '../../domain/amount.ts';
import { type BackfillCommand, backfillWorkflowId, isOfImport } from '../../domain/backfill.ts';
import {
  QUICK_TASK_QUEUE,
  settlementWorkflowId,
  WORKFLOW_TASK_QUEUE,
  webhookWorkflowId,
  withdrawalWorkflowId,
} from '../../domain/ids.ts';
import { type AwaitedCommitment } from '../../domain/settlement.ts';
import { settlementId } from '../../domain/settlement-kinds.ts';
import type { SettlementEnd } from '../../domain/steps.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { DeliveryLine, Patience } from '../../domain/webhook.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { wakeDelivery } from '../../workflows/messages.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION, SLUICE_STATUS } from '../../workflows/search-attributes.ts';

// Starts throw a ServiceError of the Temporal client if the server does not answer within this time.
const START_DEADLINE_MS = 10_000;

/** Default options: starts a new run even if earlier runs have completed, on the queue of all but quick settlements. */
const RUN_DEFAULTS = {
  taskQueue: WORKFLOW_TASK_QUEUE,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
} as const;

function withStartDeadline<T>(client: Client, start: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + START_DEADLINE_MS, start);
}

interface RunOptions {
  readonly taskQueue?: string;
  readonly workflowId: string;
  readonly args: unknown[];
  readonly staticSummary: string;
  readonly staticDetails?: string;
}

/** Starts a workflow, even if earlier runs have completed, or returns the running workflow with this id. */
function startOrJoin(
  client: Client,
  type: string,
  options: RunOptions,
): Promise<WorkflowHandleWithStartDetails> {
  return withStartDeadline(client, () =>
    client.workflow.start(type, { ...RUN_DEFAULTS, ...options, workflowIdConflictPolicy: 'USE_EXISTING' }),
  );
}

/** Identifies a stored settlement whose kind has no workflow type of its own. */
export interface SettlementRef {
  readonly kind: string;
  readonly subjectId: string;
}

/**
 * {@link startOrJoin} for a settlement. If its kind's callers wait only for `confirmed`, the quick workflow is used.
 */
export function startSettlement(
  client: Client,
  settlement: SettlementRef,
  answersAt: AwaitedCommitment = 'finalized',
): Promise<WorkflowHandleWithStartDetails> {
  const { kind, subjectId } = settlement;
  const id = settlementId(kind, subjectId);
  if (answersAt === 'confirmed') return startQuickSettlement(client, id);
  return startOrJoin(client, 'settlement', {
    workflowId: settlementWorkflowId(settlement),
    args: [{ id }],
    staticSummary: `${kind} ${subjectId}`,
  });
}

/** {@link startOrJoin} for a settlement whose kind's callers wait only for `confirmed`, for example an x402 payment. */
export function startQuickSettlement(client: Client, id: string): Promise<WorkflowHandleWithStartDetails> {
  return startOrJoin(client, QUICK_WORKFLOW, quickRunOptions(id));
}

/** Workflow of the settlements whose callers wait only for `confirmed`. */
export const QUICK_WORKFLOW = 'x402Settlement';

/** The settlement's id is the id of its run, too. */
export function quickRunOptions(id: string) {
  return { taskQueue: QUICK_TASK_QUEUE, workflowId: id, args: [{ id }], staticSummary: id };
}

export async function runSettlement(client: Client, settlement: SettlementRef): Promise<SettlementEnd> {
  const handle = await startSettlement(client, settlement);
  return (await handle.result()) as SettlementEnd;
}

/** Starts a backfill, or joins the running one of the same command. */
export async function startBackfill(client: Client, command: BackfillCommand): Promise<void> {
  const slots = `slots ${command.from} to ${command.to}`;
  await startOrJoin(client, 'backfill', {
    workflowId: backfillWorkflowId(command),
    args: [command],
    staticSummary: 'address' in command ? `audit ${command.address} over ${slots}` : `read ${slots} again`,
    staticDetails: isOfImport(command)
      ? 'audit of an imported address'
      : `by ${command.actor}: ${command.reason}`,
  });
}

/**
 * Ensures that the withdrawal's workflow is running or has completed. A failed or terminated workflow is started again
 * and continues from the attempts in PostgreSQL. `ALLOW_DUPLICATE` also restarts a completed workflow, for callers that
 * know that the withdrawal is unfinished in the database.
 */
export async function startWithdrawal(
  client: Client,
  terms: WithdrawalTerms,
  reuse: 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE' = 'ALLOW_DUPLICATE_FAILED_ONLY',
): Promise<void> {
  try {
    await withStartDeadline(client, () =>
      client.workflow.start('withdrawal', {
        ...RUN_DEFAULTS,
        workflowId: withdrawalWorkflowId(terms.id),
        args: [terms],
        workflowTaskTimeout: TIMEOUTS.workflowTaskMs,
        workflowIdReusePolicy: reuse,
        workflowIdConflictPolicy: 'USE_EXISTING',
        // Token amounts are shown in base units, because the decimals are only on chain.
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
 * Wakes or starts the workflow of a line, which then reads the line's pending events. The workflow cannot miss the
 * signal by completing, because Temporal rejects a completion while a signal is unprocessed.
 */
export async function startWebhookDelivery(
  client: Client,
  { endpoint, entity }: DeliveryLine,
  patience: Patience,
): Promise<void> {
  const line = { endpoint, entity };
  await withStartDeadline(client, () =>
    client.workflow.signalWithStart('webhookDelivery', {
      ...RUN_DEFAULTS,
      workflowId: webhookWorkflowId(line),
      args: [{ ...line, patience }],
      signal: wakeDelivery,
      signalArgs: [],
      staticSummary: `deliver ${entity} to ${endpoint}`,
      staticDetails: `\`sluice webhooks deliveries ${endpoint}\` lists the waiting events, with \`--state dead\` the dead ones`,
    }),
  );
}
