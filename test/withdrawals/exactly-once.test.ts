import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { testWorkflows } from '../support/workflows.ts';
import { expectEqualOnesPaid, payAll } from './equal-withdrawals.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

/** The id and history of a payment whose first attempt landed and whose steps met their deadlines: on a busy machine some do not. */
async function paidAtOnce(): Promise<{ workflowId: string; history: History }> {
  for (let n = 0; ; n += 1) {
    const id = `alone-${n}`;
    const destination = newAddress();
    await payAll(use, [{ id, asset: 'SOL', amount: '1000000', destination, acceptEmptyWallet: true }]);
    const workflowId = withdrawalWorkflowId(id);
    const history = await use.temporal.workflow.getHandle(workflowId).fetchHistory();
    const isLate = history.events?.some((event) => event.workflowTaskTimedOutEventAttributes);
    if (!isLate && (await use.sluice.get(id)).attempts.length === 1) return { workflowId, history };
  }
}

describe('a withdrawal', () => {
  it('with 39 equal ones is 40 transactions and 40 transfers, to the lamport', async () => {
    await expectEqualOnesPaid(use, 40);
  }, 240_000);

  it('takes at most 30 history events when the first attempt lands, and its history replays', async () => {
    const { workflowId, history } = await paidAtOnce();
    expect(history.events?.length).toBeLessThanOrEqual(30);
    expect(summariesOf(history)).toEqual([
      'reserve the id and find earlier attempts',
      'check the terms, compose the transaction and reserve funds',
      'sign the transaction',
      'send the transaction until it lands or is proved dead',
    ]);
    await Worker.runReplayHistory({ workflowBundle: await testWorkflows() }, history, workflowId);
  }, 120_000);

  it('fails before any effect under another workflow id', async () => {
    const terms = { id: 'foreign', asset: 'SOL', amount: '1000000', destination: newAddress() };
    const options = { workflowId: 'my-own-id', taskQueue: WORKFLOW_TASK_QUEUE, args: [terms] };
    const run = use.temporal.workflow.execute('withdrawal', options);
    await expect(run).rejects.toMatchObject({ cause: { type: 'ForeignWorkflowId' } });
    await expect(use.sluice.get('foreign')).rejects.toMatchObject({ code: 'NotFound' });
  });
});

/** The summary of each step in the Web UI, in order. */
function summariesOf({ events }: History): unknown[] {
  return (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes, markerRecordedEventAttributes, userMetadata }) =>
      (activityTaskScheduledEventAttributes ?? markerRecordedEventAttributes)
        ? [userMetadata?.summary && defaultPayloadConverter.fromPayload(userMetadata.summary)]
        : [],
  );
}
