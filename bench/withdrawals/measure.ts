import type { Client } from '@temporalio/client';
import type { Stack } from '../../devkit/localstack/stack.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { BASELINE_TASK_QUEUE, BASELINE_WORKFLOW } from '../baseline/names.ts';
import { drive, type Load } from '../load.ts';
import { AMOUNT_LAMPORTS, countTransfers, payRound } from '../payments.ts';
import { type CallTally, difference, readTally } from '../tally.ts';
import { type BenchWorker, startBenchWorker } from '../workers.ts';
import { reportOf, type WithdrawalsReport } from './report.ts';

/** What to measure. */
export interface WithdrawalsPlan {
  readonly count: number;
  readonly rounds: number;
  readonly inFlight: number;
  readonly slotMs: number;
  readonly finalityLag: number;
  /** Directory for CPU profiles of both workers. */
  readonly profile?: string | undefined;
}

/** One round of withdrawals and what it asked of the nodes. */
interface WithdrawalRound {
  readonly load: Load;
  readonly rpc: CallTally;
}

/** Everything that was seen; {@link reportOf} makes figures of it. */
export interface WithdrawalsMeasurement {
  readonly plan: WithdrawalsPlan;
  readonly withdrawals: readonly WithdrawalRound[];
  readonly baselines: readonly Load[];
  /** Events of each measured withdrawal's history. */
  readonly historyEvents: readonly number[];
  /** Number of measured withdrawals that are in finalized blocks exactly once. */
  readonly transfersOnChain: number;
}

const WARM_UP = 50;

/** Measures withdrawals and the empty workflow in turn, so that noise of the machine affects both. */
export async function measure(
  stack: Stack,
  plan: WithdrawalsPlan,
  say: (line: string) => void,
): Promise<WithdrawalsReport> {
  await stack.worker.stop();
  const workers = await Promise.all([
    startBenchWorker(stack, 'bench-worker', new URL('./chain-worker.ts', import.meta.url), plan.profile),
    startBenchWorker(
      stack,
      'bench-baseline',
      new URL('../baseline/worker.ts', import.meta.url),
      plan.profile,
    ),
  ]);
  const { address, namespace } = stack.temporal;
  const { connection, client } = await connectTemporal({ address, namespace });
  try {
    return reportOf(await measureRounds(stack, client, workers[0], plan, say));
  } finally {
    await connection.close();
    await Promise.all(workers.map((worker) => worker.process.stop()));
  }
}

async function measureRounds(
  stack: Stack,
  client: Client,
  worker: BenchWorker,
  plan: WithdrawalsPlan,
  say: (line: string) => void,
): Promise<WithdrawalsMeasurement> {
  const run = Date.now().toString(36);
  const withdrawals: WithdrawalRound[] = [];
  const baselines: Load[] = [];
  const paid = new Map<string, string>();
  say(`warming up with ${WARM_UP} of each`);
  await payRound(client, `${run}-warm`, WARM_UP, plan.inFlight);
  await baselineRound(client, `${run}-warm`, WARM_UP, plan.inFlight);
  for (let round = 1; round <= plan.rounds; round += 1) {
    const before = await readTally(worker.tallyPort);
    const { load, destinations } = await payRound(client, `${run}-${round}`, plan.count, plan.inFlight);
    withdrawals.push({ load, rpc: difference(before, await readTally(worker.tallyPort)) });
    for (const [id, destination] of destinations) paid.set(id, destination);
    const baseline = await baselineRound(client, `${run}-${round}`, plan.count, plan.inFlight);
    baselines.push(baseline);
    say(`round ${round}: ${speed(load)} withdrawals/s, ${speed(baseline)} bare workflows/s`);
  }
  say('reading histories and blocks');
  const historyEvents = await historyLengths(client, [...paid.keys()], plan.inFlight);
  const transfersOnChain = await countTransfers(stack, new Set(paid.values()));
  return { plan, withdrawals, baselines, historyEvents, transfersOnChain };
}

function baselineRound(client: Client, name: string, count: number, inFlight: number): Promise<Load> {
  return drive(count, inFlight, (index) =>
    client.workflow.execute(BASELINE_WORKFLOW, {
      workflowId: `bench-baseline/${name}-${index}`,
      taskQueue: BASELINE_TASK_QUEUE,
      args: [AMOUNT_LAMPORTS],
    }),
  );
}

async function historyLengths(
  client: Client,
  ids: readonly string[],
  inFlight: number,
): Promise<readonly number[]> {
  const lengths: number[] = [];
  await drive(ids.length, inFlight, async (index) => {
    const handle = client.workflow.getHandle(withdrawalWorkflowId(ids[index] ?? ''));
    lengths.push((await handle.describe()).historyLength);
  });
  return lengths;
}

function speed({ count, seconds }: Load): string {
  return (count / seconds).toFixed(1);
}
