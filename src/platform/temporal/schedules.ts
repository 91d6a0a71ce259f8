import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { depositScanWorkflowId, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';

/** Scheduled workflows, with their interval and execution timeout. The schedule id is the workflow type. */
const SCHEDULES = [
  {
    name: 'restartUnfinished',
    interval: '1 minute',
    timeout: '10 minutes',
    summary: 'restart settlements without a run, start due audits',
  },
  {
    name: 'walletWatch',
    interval: '1 minute',
    timeout: '10 minutes',
    summary: 'compare wallet signatures with recorded payments',
  },
  // A round over millions of wallets takes longer than the interval; the next round is skipped until it ends. After a
  // timeout, the next round continues where it ended.
  {
    name: 'reconciliation',
    interval: '1 hour',
    timeout: '30 days',
    summary: 'compare balances on chain with the database',
  },
] as const;
export const ENSURE_INTERVAL_MS = 30_000;

/**
 * Creates missing schedules, with an immediate first run. Existing schedules are kept; only their summary is updated.
 */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const { name, interval, timeout, summary } of SCHEDULES) {
    try {
      await client.schedule.create({
        scheduleId: name,
        spec: { intervals: [{ every: interval }] },
        action: {
          type: 'startWorkflow',
          workflowType: name,
          workflowId: name,
          taskQueue: WORKFLOW_TASK_QUEUE,
          workflowExecutionTimeout: timeout,
          staticSummary: summary,
        },
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
        state: { triggerImmediately: true },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await updateSummary(client, name, summary);
    }
  }
}

async function updateSummary(client: Client, name: string, staticSummary: string): Promise<void> {
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
 * Runs {@link ensureSchedules}, and starts the deposit scan of cluster `scannedCluster` if it is set. If Temporal has
 * lost its database, the schedules restart every unfinished withdrawal.
 */
export async function ensureEndlessRuns(client: Client, scannedCluster: string | null): Promise<void> {
  await ensureSchedules(client);
  if (scannedCluster !== null) await ensureDepositScan(client, scannedCluster);
}
