import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import type { Load } from '../load.ts';
import { countTransfers, payRound } from '../payments.ts';
import { type CallTally, difference, readTally } from '../tally.ts';
import { startBenchWorker } from '../workers.ts';
import { type FaultsReport, reportOf } from './report.ts';

/** What to measure. */
export interface FaultsPlan {
  readonly count: number;
  readonly inFlight: number;
  readonly slotMs: number;
  readonly finalityLag: number;
}

/** One round at one share of lost answers. */
export interface FaultsRound {
  /** Share of answers that were lost, 0 to 1. The nodes ran these calls. */
  readonly lost: number;
  readonly load: Load;
  readonly rpc: CallTally;
}

/** All measurements of a run. */
export interface FaultsMeasurement {
  readonly plan: FaultsPlan;
  readonly rounds: readonly FaultsRound[];
  /** Number of withdrawals that are in finalized blocks exactly once. */
  readonly transfersOnChain: number;
}

const LOST_SHARES = [0, 0.1, 0.5];
const WARM_UP = 20;

/** One round of withdrawals at each share of lost answers, on the same stack. */
export async function measureFaults(
  stack: Stack,
  plan: FaultsPlan,
  say: (line: string) => void,
): Promise<FaultsReport> {
  await stack.worker.stop();
  const program = new URL('../withdrawals/chain-worker.ts', import.meta.url);
  const worker = await startBenchWorker(stack, 'bench-faults', program);
  const { address, namespace } = stack.temporal;
  const { connection, client } = await connectTemporal({ address, namespace });
  try {
    const run = Date.now().toString(36);
    await payRound(client, `${run}-warm`, WARM_UP, plan.inFlight);
    const rounds: FaultsRound[] = [];
    const paid = new Set<string>();
    for (const lost of LOST_SHARES) {
      await loseAnswers(stack.rpcUrls, lost);
      const before = await readTally(worker.tallyPort);
      const { load, destinations } = await payRound(client, `${run}-${lost}`, plan.count, plan.inFlight);
      rounds.push({ lost, load, rpc: difference(before, await readTally(worker.tallyPort)) });
      for (const destination of destinations.values()) paid.add(destination);
      say(`${lost * 100} % of answers lost: ${load.count} finalized in ${load.seconds.toFixed(1)} s`);
    }
    await loseAnswers(stack.rpcUrls, 0);
    return reportOf({ plan, rounds, transfersOnChain: await countTransfers(stack, paid) });
  } finally {
    await connection.close();
    await worker.process.stop();
  }
}

/** Makes every node lose this share of its answers; each node draws independently. */
async function loseAnswers(urls: readonly string[], probability: number): Promise<void> {
  const [control = ''] = urls;
  await rpc(control, 'localnet_clearFaults', []);
  if (probability === 0) return;
  for (const node of urls.keys())
    await rpc(control, 'localnet_setFault', [
      node,
      '*',
      { kind: 'lost-answer' },
      { probability, seed: node + 1 },
    ]);
}
