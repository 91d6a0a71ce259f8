import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { failureInterceptor } from '../../src/activities/failures.ts';
import { WORKFLOW_TASK_QUEUE } from '../../src/domain/ids.ts';
import type { Service } from '../http/service.ts';
import { testWorkflows } from '../support/workflows.ts';

type Queue = Pick<WorkerOptions, 'taskQueue' | 'maxConcurrentActivityTaskExecutions'>;

/** A worker with all workflows on one queue, and one for each other queue, with the same activities. The returned function stops them. */
export async function startWorkers(
  { address, namespace }: Pick<Service, 'address' | 'namespace'>,
  activities: object,
  queues: readonly Queue[],
  taskQueue = WORKFLOW_TASK_QUEUE,
): Promise<() => Promise<void>> {
  const workflowBundle = await testWorkflows();
  const connection = await NativeConnection.connect({ address });
  const interceptors = { activity: [() => ({ inbound: failureInterceptor })] };
  const common = { connection, namespace, activities, interceptors };
  const workers = await Promise.all([
    Worker.create({ ...common, taskQueue, workflowBundle }),
    ...queues.map((queue) => Worker.create({ ...common, ...queue })),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  return async () => {
    for (const worker of workers) worker.shutdown();
    await running;
    await connection.close();
  };
}
