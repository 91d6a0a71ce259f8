import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { QUICK_TASK_QUEUE, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';
import * as workflows from '../../workflows/index.ts';
import type { Config } from '../config.ts';
import { connectTemporal } from '../temporal/client.ts';
import { dataConverter } from '../temporal/codec.ts';
import { workflowSource } from './workflow-source.ts';

const OPEN_RUNS_QUERY = `ExecutionStatus = "Running" AND TaskQueue IN ("${WORKFLOW_TASK_QUEUE}", "${QUICK_TASK_QUEUE}")`;
const WORKFLOW_TYPES = Object.keys(workflows);

interface OpenRun {
  readonly type: string;
  readonly workflowId: string;
  readonly runId: string;
}

/**
 * Replays the histories of open workflows with the current code: the newest `limit` runs of each workflow type. Returns
 * true if all of them replay. Changes nothing. `print` receives a line for each failure, for each type with more runs,
 * and at the end.
 *
 * @throws ServiceError of the Temporal client if the server does not answer
 */
export async function verifyOpenRuns(
  config: Config,
  limit: number,
  print: (line: string) => void,
): Promise<boolean> {
  const converter = dataConverter(config.payloadKeys);
  const { temporalAddress: address, temporalNamespace: namespace } = config;
  const { connection, client } = await connectTemporal({ address, namespace }, converter);
  try {
    return await replayAll(openRuns(client, limit, print), client, { dataConverter: converter }, print);
  } finally {
    await connection.close();
  }
}

async function replayAll(
  runs: AsyncIterable<OpenRun>,
  client: Client,
  options: Pick<Parameters<typeof Worker.runReplayHistories>[0], 'dataConverter'>,
  print: (line: string) => void,
): Promise<boolean> {
  let lastRun: OpenRun | undefined;
  async function* histories() {
    for await (const next of runs) {
      const history = await historyOf(client, next);
      if (history === null) continue;
      lastRun = next;
      yield { workflowId: next.workflowId, history };
    }
  }
  let [replayed, failed] = [0, 0];
  // The SDK replays one history at a time, so a result always belongs to the history that was read last.
  for await (const { error } of Worker.runReplayHistories({ ...workflowSource(), ...options }, histories())) {
    replayed += 1;
    if (error === undefined) continue;
    failed += 1;
    print(`replay failed: ${lastRun?.type} ${lastRun?.workflowId}, run ${lastRun?.runId}: ${error.message}`);
  }
  print(`${replayed} open runs replayed, ${failed} failed`);
  return failed === 0;
}

/** The newest open runs of each workflow type, and of all types that the current code does not have. */
async function* openRuns(
  client: Client,
  limit: number,
  print: (line: string) => void,
): AsyncGenerator<OpenRun> {
  const otherTypes = `WorkflowType NOT IN (${WORKFLOW_TYPES.map((type) => `"${type}"`).join(', ')})`;
  for (const [name, filter] of [
    ...WORKFLOW_TYPES.map((type) => [type, `WorkflowType = "${type}"`] as const),
    ['other types', otherTypes] as const,
  ]) {
    let count = 0;
    for await (const { type, workflowId, runId } of client.workflow.list({
      query: `${OPEN_RUNS_QUERY} AND ${filter}`,
    })) {
      count += 1;
      if (count > limit) {
        print(`${name}: only the newest ${limit} open runs are replayed; set --limit to replay more`);
        break;
      }
      yield { type, workflowId, runId };
    }
  }
}

/** History of a run; null if it has no completed workflow task, or if it was deleted after it was listed. */
async function historyOf(client: Client, { workflowId, runId }: OpenRun) {
  try {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    return (history.events ?? []).some((event) => event.workflowTaskCompletedEventAttributes)
      ? history
      : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
