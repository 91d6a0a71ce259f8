import { join, resolve } from 'node:path';
import { freePort } from '../devkit/localstack/ports.ts';
import { ManagedProcess } from '../devkit/localstack/process.ts';
import { nodeProgram } from '../devkit/localstack/program.ts';
import type { Stack } from '../devkit/localstack/stack.ts';
import { benchEnvironment, TALLY_PORT } from './settings.ts';
import { readTally } from './tally.ts';

/** A worker process of the benchmark and the port of its tally. */
export interface BenchWorker {
  readonly process: ManagedProcess;
  readonly tallyPort: number;
}

/**
 * Starts `program` with the settings of the stack's chain worker; ready when its tally answers.
 * With `profileDir` Node.js leaves a CPU profile there when the worker ends.
 */
export async function startBenchWorker(
  stack: Stack,
  name: string,
  program: URL,
  profileDir?: string,
): Promise<BenchWorker> {
  const tallyPort = await freePort();
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profileDir)}`];
  const worker = new ManagedProcess({
    name,
    ...nodeProgram(program, [], { flags: profiling }),
    env: {
      ...benchEnvironment(),
      TEMPORAL_ADDRESS: stack.temporal.address,
      TEMPORAL_NAMESPACE: stack.temporal.namespace,
      DATABASE_URL: stack.databaseUrl,
      SLUICE_RPC_URLS: stack.rpcUrls.join(','),
      SLUICE_HOT_WALLET: stack.hotWallet,
      [TALLY_PORT]: String(tallyPort),
    },
    logFile: join(stack.logDir, `${name}.log`),
    ready: () =>
      readTally(tallyPort).then(
        () => true,
        () => false,
      ),
  });
  await worker.start();
  return { process: worker, tallyPort };
}
