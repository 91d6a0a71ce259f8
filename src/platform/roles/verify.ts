import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { QUICK_TASK_QUEUE, WORKFLOW_TASK_QUEUE } from '../../domain/ids.ts';
import * as workflows from '../../workflows/index.ts';
import type { Config } from '../config.ts';
import { connectTemporal } from '../temporal/client.ts';
import { dataConverter } from '../temporal/codec.ts';
import { workflowSource } from './workflow-source.ts';

const OPEN = `ExecutionStatus = "Running" AND TaskQueue IN ("${WORKFLOW_TASK_QUEUE}", "${QUICK_TASK_QUEUE}")`;
const TYPES = Object.keys(workflows);

interface OpenRun {
  readonly type: string;
  readonly workflowId: string;
  readonly runId: string;
}

/**
 * Replays histories of open workflows with the current code: the newest of each workflow type, up to `limit`.
 * Returns true if all of them replay. Read-only. `say` receives a line for each failure, for each type with more
 * workflows, and at the end.
 *
 * @throws ServiceError of the Temporal client if the server does not answer
 */
export async function verifyOpenRuns(
  config: Config,
  limit: number,
  say: (line: string) => void,
): Promise<boolean> {
  const converter = dataConverter(config.payloadKeys);
  const { temporalAddress: address, temporalNamespace: namespace } = config;
  const { connection, client } = await connectTemporal({ address, namespace }, converter);
  try {
    return await replayAll(openRuns(client, limit, say), client, { dataConverter: converter }, say);
  } finally {
    await connection.close();
  }
}

async function replayAll(
  runs: AsyncIterable<OpenRun>,
  client: Client,
  options: Pick<Parameters<typeof Worker.runReplayHistories>[0], 'dataConverter'>,
  say: (line: string) => void,
): Promise<boolean> {
  let run: OpenRun | undefined;
  async function* histories() {
    for await (const next of runs) {
      const history = await historyOf(client, next);
      if (history === null) continue;
      run = next;
      yield { workflowId: next.workflowId, history };
    }
  }
  let [replayed, failed] = [0, 0];
  // The SDK replays one history at a time: a result always belongs to the last one.
  for await (const { error } of Worker.runReplayHistories({ ...workflowSource(), ...options }, histories())) {
    replayed += 1;
    if (error === undefined) continue;
    failed += 1;
    say(`does not replay: ${run?.type} ${run?.workflowId} run ${run?.runId}: ${error.message}`);
  }
  say(`${replayed} open runs replayed, ${failed} failed`);
  return failed === 0;
}

/** The newest open workflows of each type, and of types that the current code lacks. */
async function* openRuns(
  client: Client,
  limit: number,
  say: (line: string) => void,
): AsyncGenerator<OpenRun> {
  const others = `WorkflowType NOT IN (${TYPES.map((type) => `"${type}"`).join(', ')})`;
  for (const [name, filter] of [
    ...TYPES.map((type) => [type, `WorkflowType = "${type}"`] as const),
    ['other types', others] as const,
  ]) {
    let listed = 0;
    for await (const { type, workflowId, runId } of client.workflow.list({
      query: `${OPEN} AND ${filter}`,
    })) {
      listed += 1;
      if (listed > limit) {
        say(`${name}: only the newest ${limit} open runs are replayed; --limit changes that`);
        break;
      }
      yield { type, workflowId, runId };
    }
  }
}

/** Null if there is nothing to replay: no completed workflow task, or deleted since the listing. */
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
