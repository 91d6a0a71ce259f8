import { NativeConnection, Runtime, type Worker, type WorkerOptions } from '@temporalio/worker';
import { failureInterceptor } from '../../activities/failures.ts';
import { SIGNER_TASK_QUEUE } from '../../domain/ids.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { Config } from '../config.ts';
import { aborted, Closers } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';

/** Makes the workers of a role: one for `chain` or `signer`, both for `all`. `stop` is aborted when they are to end. */
export type Staff = (
  connection: NativeConnection,
  closers: Closers,
  stop: AbortSignal,
) => Promise<readonly Worker[]>;

/** Runs workers until `stop` is aborted, then lets them finish and closes what they opened. */
export async function runWorkers(config: Config, staff: Staff, stop: AbortSignal): Promise<void> {
  const closers = new Closers();
  try {
    const connection = await NativeConnection.connect({ address: config.temporalAddress });
    closers.add('temporal', () => connection.close());
    const workers = await staff(connection, closers, stop);
    if (workers.some(({ options }) => options.workerDeploymentOptions?.useWorkerVersioning === true))
      Runtime.instance().logger.info(
        `these workers are version ${config.workerBuildId} of deployment ${config.workerDeploymentName}: they get tasks once it is the current version`,
      );
    await Promise.all(workers.map((worker) => worker.runUntil(aborted(stop))));
  } finally {
    await closers.close();
  }
}

/** What every worker of Sluice has. */
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
 * The version of a worker. Workflows that settle pin themselves to it (`workflows/versioning.ts`); all others move to the current version.
 * Signers have no version: each one signs for the runs of every version.
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

/** For work on a rhythm: a failure goes to the log of this process as `sentence`, and the next round tries again. */
export function warnsOf(sentence: string): (error: unknown) => void {
  return (error) => Runtime.instance().logger.warn(sentence, { error });
}
