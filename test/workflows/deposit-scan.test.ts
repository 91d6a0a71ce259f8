import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WATCH_TASK_QUEUE, WORKFLOW_TASK_QUEUE } from '../../src/domain/ids.ts';
import type { CatchUpPlan, CatchUpRange, JoinEnd, RangeEnd, ScanStatus } from '../../src/domain/scan.ts';
import { openService, type Service } from '../http/service.ts';
import { until } from '../support/until.ts';
import { startWorkers } from './workers.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const POSITION = { cursor: null, tip: null, lag: null, blocksPerSecond: null, at: SINCE };
const WAITING: ScanStatus = { ...POSITION, state: 'waiting', reason: 'no node answers', since: SINCE };
const NEAR: CatchUpPlan = { behind: false, ranges: [], reason: null };

let service: Service;
let stop: () => Promise<void>;
/** The results of the steps of the scan, and their calls, in order. */
let plans: CatchUpPlan[];
let unreadable: string | null;
let staged: string[];
let asked: string[];
let ran = 0;
/** The id of the run of this test. */
let scanId: string;

/** False for a step of a run that an earlier test ended: the step was in flight then, and arrives late. */
function isOfThisTest(): boolean {
  const run = activityInfo().workflowExecution?.workflowId;
  return run === scanId || run?.startsWith('scan-') !== true;
}

function note(step: string): void {
  if (isOfThisTest()) asked.push(step);
}

/** The activities with these results: the test checks the order of the steps. */
const steps = {
  planCatchUp: async (): Promise<CatchUpPlan> => (isOfThisTest() ? plans.shift() : undefined) ?? NEAR,
  async scanRange({ to }: CatchUpRange): Promise<RangeEnd> {
    note(`read ${to}`);
    if (to === unreadable) return { complete: false, reason: 'a version' };
    staged.push(to);
    return { complete: true, reason: null };
  },
  async joinRanges(): Promise<JoinEnd> {
    const to = ['10', '20', '30']
      .filter((end, index, all) => all.slice(0, index + 1).every((one) => staged.includes(one)))
      .at(-1);
    const cursor = to === undefined ? null : { slot: to, blockhash: to, height: to };
    note(`join ${to ?? 'nothing'}`);
    return {
      joined: staged.length,
      status: { ...POSITION, state: 'catch-up', cursor },
      reason: null,
    };
  },
  async scanTail(): Promise<ScanStatus> {
    note('tail');
    return WAITING;
  },
  async startMissingRuns() {
    throw ApplicationFailure.nonRetryable('Temporal cannot list');
  },
  expireUnsigned: async () => note('expire'),
  startDueAudits: async () => note('audits'),
};

beforeAll(async () => {
  service = await openService();
  stop = await startWorkers(service, steps, [{ taskQueue: WATCH_TASK_QUEUE }]);
});
afterAll(async () => {
  await stop?.();
  await service?.close();
});
beforeEach(() => {
  [plans, unreadable, staged, asked] = [[], null, [], []];
  scanId = `scan-${(ran += 1)}`;
});

const options = (workflowId: string) => ({ workflowId, taskQueue: WORKFLOW_TASK_QUEUE });
const ranges = ['10', '20', '30'].map((to) => ({ after: { slot: '1', blockhash: 'x', height: '1' }, to }));

describe('the workflow of the scan', () => {
  afterEach(() => service.temporal.workflow.getHandle(scanId).terminate());

  async function scansUntil(step: string, count: number): Promise<readonly string[]> {
    await service.temporal.workflow.start('depositScan', options(scanId));
    await until(async () => asked.filter((one) => one === step).length >= count);
    return asked;
  }

  it('joins ranges as they end, and plans again', async () => {
    plans = [{ behind: true, ranges, reason: null }];
    const all = await scansUntil('tail', 1);
    expect(all.filter((one) => one.startsWith('read'))).toHaveLength(3);
    expect(all.slice(0, all.indexOf('tail')).at(-1)).toBe('join 30');
    expect(all.filter((one) => one.startsWith('join'))).toHaveLength(4);
  });

  it('leaves an unreadable range to the tail, and does not end because of it', async () => {
    plans = [{ behind: true, ranges, reason: null }];
    unreadable = '20';
    const all = await scansUntil('tail', 1);
    expect(all).toContain('join 10');
    expect(all).not.toContain('join 20');
    const { status } = await service.temporal.workflow.getHandle(scanId).describe();
    expect(status.name).toBe('RUNNING');
  });
});

describe('the schedule `restartUnfinished`', () => {
  it('starts audits, and releases refused attempts, where runs cannot be listed', async () => {
    const round = service.temporal.workflow.execute('restartUnfinished', options('restart-unfinished-round'));
    await expect(round).rejects.toThrow();
    expect(asked.toSorted()).toEqual(['audits', 'expire']);
  });
});
