import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { depositScanWorkflowId, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';

/** Scheduled workflows with interval and execution timeout. The schedule id is the workflow's name. */
const SCHEDULES = [
  {
    name: 'orphans',
    every: '1 minute',
    atMost: '10 minutes',
    summary: 'restart settlements without a run, start due audits',
  },
  {
    name: 'walletWatch',
    every: '1 minute',
    atMost: '10 minutes',
    summary: 'compare wallet signatures with recorded payments',
  },
  // Millions of wallets take more than an hour, and the next round waits for this one. A round that times out is
  // continued by the next one.
  {
    name: 'reconciliation',
    every: '1 hour',
    atMost: '30 days',
    summary: 'compare balances on chain with the database',
  },
] as const;
export const ENSURE_INTERVAL_MS = 30_000;

/** Creates missing schedules, with an immediate first run. Existing ones keep an operator's changes, except texts. */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const { name, every, atMost, summary } of SCHEDULES) {
    try {
      await client.schedule.create({
        scheduleId: name,
        spec: { intervals: [{ every }] },
        action: {
          type: 'startWorkflow',
          workflowType: name,
          workflowId: name,
          taskQueue: WORKFLOW_TASK_QUEUE,
          workflowExecutionTimeout: atMost,
          staticSummary: summary,
        },
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
        state: { triggerImmediately: true },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await summarize(client, name, summary);
    }
  }
}

async function summarize(client: Client, name: string, staticSummary: string): Promise<void> {
  const schedule = client.schedule.getHandle(name);
  const { action } = await schedule.describe();
  if (action.staticSummary === staticSummary) return;
  await schedule.update((found) => ({ ...found, action: { ...found.action, staticSummary } }));
}

/** Starts the deposit scan unless it is running. A terminated scan continues from the cursor in PostgreSQL. */
export async function ensureDepositScan(client: Client, cluster: string): Promise<void> {
  await client.workflow.start('depositScan', {
    workflowId: depositScanWorkflowId(cluster),
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `scan ${cluster} for deposits`,
  });
}

/**
 * Runs {@link ensureSchedules} and starts the deposit scan of `scanned`. They restore a Temporal that lost its database,
 * and with it every unfinished withdrawal.
 */
export async function ensureEndlessRuns(client: Client, scanned: string | null): Promise<void> {
  await ensureSchedules(client);
  if (scanned !== null) await ensureDepositScan(client, scanned);
}
