import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import {
  AUDIT_TASK_QUEUE,
  LANDING_TASK_QUEUE,
  QUICK_TASK_QUEUE,
  SIGNER_TASK_QUEUE,
  WATCH_TASK_QUEUE,
  WORKFLOW_TASK_QUEUE,
} from '../../src/domain/ids.ts';
import { ManagedProcess } from './process.ts';
import { type CompiledPrograms, nodeProgram } from './program.ts';

const ACTIVITY_QUEUE_TYPE = 2;
const CHAIN_QUEUES = [WORKFLOW_TASK_QUEUE, LANDING_TASK_QUEUE, WATCH_TASK_QUEUE, AUDIT_TASK_QUEUE];
const QUEUES = {
  chain: CHAIN_QUEUES,
  signer: [SIGNER_TASK_QUEUE],
  x402: [QUICK_TASK_QUEUE],
  all: [...CHAIN_QUEUES, SIGNER_TASK_QUEUE, QUICK_TASK_QUEUE],
} as const;

export interface ServiceContext extends CompiledPrograms {
  readonly connection: Connection;
  readonly namespace: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logDir: string;
}

/** True if the worker process `pid` polls `taskQueue`. The SDK's worker identity is `<pid>@<host>`. */
async function isPolling(
  context: ServiceContext,
  taskQueue: string,
  pid: number | undefined,
): Promise<boolean> {
  const { pollers } = await context.connection.workflowService.describeTaskQueue({
    namespace: context.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: ACTIVITY_QUEUE_TYPE,
  });
  return (pollers ?? []).some(({ identity }) => identity?.startsWith(`${pid}@`));
}

/** A worker process, ready when Temporal lists it as a poller of every queue of its role. */
export function workerProcess(
  context: ServiceContext,
  name: string,
  role: keyof typeof QUEUES,
): ManagedProcess {
  const worker: ManagedProcess = new ManagedProcess({
    name,
    ...nodeProgram(new URL('../../src/worker.ts', import.meta.url), [], context),
    env: { ...context.env, SLUICE_WORKER_ROLE: role },
    logFile: join(context.logDir, `${name}.log`),
    readyTimeoutMs: 90_000,
    stopTimeoutMs: 25_000,
    ready: async () => {
      const arePolled = await Promise.all(QUEUES[role].map((queue) => isPolling(context, queue, worker.pid)));
      return arePolled.every(Boolean);
    },
  });
  return worker;
}

export function apiProcess(
  context: Pick<ServiceContext, 'env' | 'logDir' | 'compiledIn'>,
  apiUrl: string,
): ManagedProcess {
  return new ManagedProcess({
    name: 'api',
    ...nodeProgram(new URL('../../src/server.ts', import.meta.url), [], context),
    env: context.env,
    logFile: join(context.logDir, 'api.log'),
    ready: async () => {
      const answer = await fetch(`${apiUrl}/healthz`, { signal: AbortSignal.timeout(2_000) }).catch(
        () => null,
      );
      return answer?.ok ?? false;
    },
  });
}
