import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { newWallet, type TestStack, testStack } from '../support/stack.ts';
import { expectEqualOnesPaid, payAll } from './equal-ones.ts';

let running: TestStack;

beforeAll(async () => {
  running = await testStack();
});

afterAll(async () => running?.close());

/** A withdrawal of which the first attempt has landed: on a busy machine that of a few may die. */
async function paidAtOnce(): Promise<string> {
  for (let n = 0; ; n += 1) {
    const id = `alone-${n}`;
    const destination = newWallet();
    await payAll(running, [{ id, asset: 'SOL', amount: '1000000', destination, acceptEmptyWallet: true }]);
    if ((await running.sluice.get(id)).attempts.length === 1) return id;
  }
}

describe('a withdrawal', () => {
  it('of 40 equal ones is 40 transactions and 40 transfers, to the lamport', async () => {
    await expectEqualOnesPaid(running, 40);
  }, 240_000);

  it('takes at most 30 history events when the first attempt lands, and its history replays', async () => {
    const workflowId = withdrawalWorkflowId(await paidAtOnce());
    const { namespace } = running.stack.temporal;
    const connection = await Connection.connect({ address: running.stack.temporal.address });
    try {
      const handle = new Client({ connection, namespace }).workflow.getHandle(workflowId);
      const history = await handle.fetchHistory();
      expect(history.events?.length).toBeLessThanOrEqual(30);
      expect(summariesOf(history)).toEqual([
        'reserve the id, find earlier attempts',
        'check, compose, reserve',
        'sign',
        'send until it has landed or is proved dead',
      ]);
      const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
      await Worker.runReplayHistory({ workflowsPath }, history, workflowId);
    } finally {
      await connection.close();
    }
  }, 120_000);

  it('fails before any effect under another workflow id', async () => {
    const { namespace } = running.stack.temporal;
    const connection = await Connection.connect({ address: running.stack.temporal.address });
    try {
      const client = new Client({ connection, namespace });
      const terms = { id: 'foreign', asset: 'SOL', amount: '1000000', destination: newWallet() };
      const options = { workflowId: 'my-own-id', taskQueue: WORKFLOW_TASK_QUEUE, args: [terms] };
      const run = client.workflow.execute('withdrawal', options);
      await expect(run).rejects.toMatchObject({ cause: { type: 'ForeignWorkflowId' } });
      await expect(running.sluice.get('foreign')).rejects.toMatchObject({ code: 'NotFound' });
    } finally {
      await connection.close();
    }
  });
});

/** What the Web UI says of each step, in order. */
function summariesOf({ events }: History): unknown[] {
  return (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes, markerRecordedEventAttributes, userMetadata }) =>
      (activityTaskScheduledEventAttributes ?? markerRecordedEventAttributes)
        ? [userMetadata?.summary && defaultPayloadConverter.fromPayload(userMetadata.summary)]
        : [],
  );
}
