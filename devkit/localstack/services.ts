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
import { type Compiled, nodeProgram } from './program.ts';

const ACTIVITY_QUEUE = 2;
const CHAIN_QUEUES = [WORKFLOW_TASK_QUEUE, LANDING_TASK_QUEUE, WATCH_TASK_QUEUE, AUDIT_TASK_QUEUE];
const QUEUES = {
  chain: CHAIN_QUEUES,
  signer: [SIGNER_TASK_QUEUE],
  x402: [QUICK_TASK_QUEUE],
  all: [...CHAIN_QUEUES, SIGNER_TASK_QUEUE, QUICK_TASK_QUEUE],
} as const;

export interface ServiceContext extends Compiled {
  readonly connection: Connection;
  readonly namespace: string;
  /** Settings of all services. */
  readonly env: NodeJS.ProcessEnv;
  readonly logDir: string;
}

/** True when the worker process `pid` polls `taskQueue`; the SDK names its workers `<pid>@<host>`. */
async function polls(context: ServiceContext, taskQueue: string, pid: number | undefined): Promise<boolean> {
  const { pollers } = await context.connection.workflowService.describeTaskQueue({
    namespace: context.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: ACTIVITY_QUEUE,
  });
  return (pollers ?? []).some(({ identity }) => identity?.startsWith(`${pid}@`));
}

/** A worker process of one role, ready when Temporal sees it poll every queue of that role. */
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
      const polled = await Promise.all(QUEUES[role].map((queue) => polls(context, queue, worker.pid)));
      return polled.every(Boolean);
    },
  });
  return worker;
}

/** The API process, ready when it answers. */
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
