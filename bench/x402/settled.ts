import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import type { Ledger } from '../../src/ledger/ledger.ts';

const RUNNING = 'WorkflowType = "x402Settlement" AND ExecutionStatus = "Running"';
// Each look costs processor time of PostgreSQL and Temporal, which counts as ours.
const POLL_MS = 1_000;
const SETTLED_WITHIN_MS = 180_000;

interface Runs {
  readonly connection: Connection;
  readonly namespace: string;
}

/** Waits until every settlement is finished and every run is closed: work that a run does later is a cost of its payment, too. */
export async function untilSettled(ledger: Pick<Ledger, 'settlements'>, runs: Runs): Promise<void> {
  const end = Date.now() + SETTLED_WITHIN_MS;
  while ((await hasUnfinished(ledger)) || (await runningCount(runs)) > 0) {
    if (Date.now() > end) throw new Error(`payments are not settled after ${SETTLED_WITHIN_MS} ms`);
    await sleep(POLL_MS);
  }
}

async function hasUnfinished({ settlements }: Pick<Ledger, 'settlements'>): Promise<boolean> {
  return (await settlements.listUnfinished().next()).value !== undefined;
}

async function runningCount({ connection, namespace }: Runs): Promise<number> {
  const { count } = await connection.workflowService.countWorkflowExecutions({ namespace, query: RUNNING });
  return Number(count ?? 0);
}
