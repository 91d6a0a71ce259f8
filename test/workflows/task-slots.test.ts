import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BackfillCommand, backfillWorkflowId } from '../../src/domain/backfill.ts';
import { AUDIT_TASK_QUEUE, WATCH_TASK_QUEUE, WORKFLOW_TASK_QUEUE } from '../../src/domain/ids.ts';
import { temporalRuns } from '../../src/platform/temporal/runs.ts';
import { startBackfill } from '../../src/platform/temporal/starts.ts';
import { openService, type Service } from '../http/service.ts';
import { until } from '../support/until.ts';
import { startWorkers } from './workers.ts';

const PLACES = 2;

let service: Service;
let stop: () => Promise<void>;
let asked: string[] = [];
let ended = false;

async function forHours(name: string): Promise<void> {
  asked.push(name);
  while (!ended) await setTimeout(50);
}

const steps = {
  planCatchUp: async () => ({ behind: false, ranges: [], reason: null }),
  async scanTail() {
    asked.push('tail');
    await setTimeout(50);
    return { cursor: null, tip: null, lag: null, blocksPerSecond: null, at: null, state: 'tail' };
  },
  watchWallet: async () => void asked.push('wallet'),
  async backfill() {
    await forHours('backfill');
    return { blocks: 1, found: 0, unread: [] };
  },
};

beforeAll(async () => {
  service = await openService();
  stop = await startWorkers(service, steps, [
    { taskQueue: WATCH_TASK_QUEUE, maxConcurrentActivityTaskExecutions: PLACES },
    { taskQueue: AUDIT_TASK_QUEUE, maxConcurrentActivityTaskExecutions: PLACES },
  ]);
});
afterAll(async () => {
  ended = true;
  await stop?.();
  await service?.close();
});

const options = (workflowId: string) => ({ workflowId, taskQueue: WORKFLOW_TASK_QUEUE });

it('audits and rescans that take hours leave the task slots of the scan and of the wallet watch free', async () => {
  const slots = { from: '1', to: '2' };
  const orders: readonly BackfillCommand[] = [
    ...['a', 'b', 'c', 'd'].map((address) => {
      return { address, ...slots, repair: true, cause: 'import', databaseId: 'r' } as const;
    }),
    ...['3', '4'].map((to) => ({ from: '1', to, actor: 'ops', reason: 'x' })),
  ];
  for (const order of orders) await startBackfill(service.temporal, order);
  await until(async () => asked.length >= PLACES);
  asked = [];
  await service.temporal.workflow.start('depositScan', options('scan'));
  await service.temporal.workflow.start('walletWatch', options('wallet'));
  await until(async () => asked.includes('wallet') && asked.filter((one) => one === 'tail').length > 2);
  expect(asked).not.toContain('backfill');
  const runs = temporalRuns(service.temporal);
  await until(async () => (await runs.runningBackfills()).size === orders.length);
  const known = await runs.runningBackfills();
  expect([...known.keys()].toSorted()).toEqual(orders.map(backfillWorkflowId).toSorted());
  expect([...known.values()].every((since) => since instanceof Date)).toBe(true);
  await service.temporal.workflow.getHandle('scan').terminate();
});
