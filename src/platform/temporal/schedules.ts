import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { depositScanWorkflowId, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';
import { keepDoing } from '../interval.ts';

/** Workflows that run for the whole of Sluice: how often, and how long at most. The id of the schedule is the name of the workflow. */
const SCHEDULES = [
  { name: 'orphans', every: '1 minute', atMost: '10 minutes', summary: 'start again what has no run' },
  {
    name: 'walletWatch',
    every: '1 minute',
    atMost: '10 minutes',
    summary: 'look for payments that the record lacks',
  },
  { name: 'nodeWatch', every: '1 minute', atMost: '10 minutes', summary: 'ask how the nodes are' },
  // Millions of wallets take longer than an hour, and the next round waits for this one; one that is cut goes on there.
  {
    name: 'reconciliation',
    every: '1 hour',
    atMost: '30 days',
    summary: 'hold the balances of our wallets against the record',
  },
] as const;
const ENSURED_EVERY_MS = 30_000;

/**
 * Makes the schedules that Temporal does not have, each with a first run at once; those that are there stay as operators left them, but
 * for the words that the Web UI shows of their runs.
 */
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

/** Starts the deposit scan where none runs: one that was terminated goes on from the cursor in Postgres. */
export async function ensureDepositScan(client: Client, cluster: string): Promise<void> {
  await client.workflow.start('depositScan', {
    workflowId: depositScanWorkflowId(cluster),
    taskQueue: WORKFLOW_TASK_QUEUE,
    args: [{}],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `scan ${cluster} for deposits`,
  });
}

/**
 * {@link ensureSchedules}, and the deposit scan of `scanned`, now and on a rhythm: a Temporal that lost its database gets them back,
 * and with them every unfinished withdrawal. Failures are told to `onFailure` and left to the next time. Call the answer to stop.
 */
export function keepSchedules(
  client: Client,
  scanned: string | null,
  onFailure: (error: unknown) => void,
): () => void {
  const ensure = async (): Promise<void> => {
    await ensureSchedules(client);
    if (scanned !== null) await ensureDepositScan(client, scanned);
  };
  return keepDoing(ENSURED_EVERY_MS, ensure, onFailure);
}
