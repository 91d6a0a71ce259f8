import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { installRuntime } from '../../src/platform/runtime.ts';
import { shutdownSignal, untilAborted } from '../../src/platform/shutdown.ts';
import { TALLY_PORT } from '../settings.ts';
import { serveTally } from '../tally.ts';
import { baselineActivities } from './activities.ts';
import { BASELINE_TASK_QUEUE } from './names.ts';

// Concurrency and runtime as the chain worker has them, so that only the work differs.
const config = readConfigOrExit(process.env, 'chain');
installRuntime(createLogger({ level: config.logLevel, name: 'baseline' }), config.metricsAddress);
const connection = await NativeConnection.connect({ address: config.temporalAddress });
const worker = await Worker.create({
  connection,
  namespace: config.temporalNamespace,
  taskQueue: BASELINE_TASK_QUEUE,
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
  activities: baselineActivities,
  maxConcurrentActivityTaskExecutions: 1_000,
});
const tally = await serveTally(Number(process.env[TALLY_PORT]), () => ({}));
await worker.runUntil(untilAborted(shutdownSignal()));
tally.close();
await connection.close();
