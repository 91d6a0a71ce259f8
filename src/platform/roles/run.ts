import { NativeConnection, Runtime, type Worker, type WorkerOptions } from '@temporalio/worker';
import { failureInterceptor } from '../../activities/failures.ts';
import { SIGNER_TASK_QUEUE } from '../../domain/ids.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { Config } from '../config.ts';
import { Closers, untilAborted } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';

/** Creates the workers of a role. `signal` is aborted at shutdown. */
export type CreateWorkers = (
  connection: NativeConnection,
  closers: Closers,
  signal: AbortSignal,
) => Promise<readonly Worker[]>;

/** Runs workers until `signal` is aborted, then waits for their tasks and closes their resources. */
export async function runWorkers(
  config: Config,
  createWorkers: CreateWorkers,
  signal: AbortSignal,
): Promise<void> {
  const closers = new Closers();
  try {
    const connection = await NativeConnection.connect({ address: config.temporalAddress });
    closers.add('temporal', () => connection.close());
    const workers = await createWorkers(connection, closers, signal);
    if (workers.some(({ options }) => options.workerDeploymentOptions?.useWorkerVersioning === true))
      Runtime.instance().logger.info(
        `these workers are version ${config.workerBuildId} of deployment ${config.workerDeploymentName}: they receive tasks as soon as that version is the deployment's current version`,
      );
    await Promise.all(workers.map((worker) => worker.runUntil(untilAborted(signal))));
  } finally {
    await closers.close();
  }
}

export function workerOptions(
  config: Config,
  connection: NativeConnection,
  taskQueue: string,
): WorkerOptions {
  return {
    connection,
    namespace: config.temporalNamespace,
    taskQueue,
    interceptors: { activity: [() => ({ inbound: failureInterceptor })] },
    stickyQueueScheduleToStartTimeout: TIMEOUTS.stickyQueueMs,
    shutdownGraceTime: '10 seconds',
    shutdownForceTime: '20 seconds',
    dataConverter: dataConverter(config.payloadKeys),
    ...deploymentOptions(config, taskQueue),
  };
}

/**
 * Deployment version of a worker. Settlement workflows stay on their version (`workflows/versioning.ts`); all others
 * move to the current version. Signers have no version, because each signs for workflows of every version.
 */
function deploymentOptions(
  { workerBuildId: buildId, workerDeploymentName: deploymentName }: Config,
  taskQueue: string,
): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (buildId === undefined || taskQueue === SIGNER_TASK_QUEUE) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

/** Returns an error handler that logs `message` with the error as a warning. */
export function warningLogger(message: string): (error: unknown) => void {
  return (error) => Runtime.instance().logger.warn(message, { error });
}
