import { NativeConnection, Runtime, type Worker, type WorkerOptions } from '@temporalio/worker';
import { failureInterceptor } from '../activities/failures.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import { dataConverter } from '../platform/codec.ts';
import type { Config } from '../platform/config.ts';
import { aborted, Closers } from '../platform/shutdown.ts';

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
  };
}

/** For work on a rhythm: a failure goes to the log of this process as `sentence`, and the next round tries again. */
export function warnsOf(sentence: string): (error: unknown) => void {
  return (error) => Runtime.instance().logger.warn(sentence, { error });
}
