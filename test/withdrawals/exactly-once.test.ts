import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { readBooks, type Spent } from '../../src/localstack/books.ts';
import { newWallet, type TestStack, testStack } from '../support/stack.ts';
import { ChainHand } from './outcomes-support.ts';

let running: TestStack;
let hand: ChainHand;

beforeAll(async () => {
  running = await testStack();
  hand = new ChainHand(running.stack);
});

afterAll(async () => running?.close());

/** Asks for all at once; true where every one is finalized. */
async function payAll(terms: readonly WithdrawalTerms[]): Promise<boolean> {
  const { sluice } = running;
  await Promise.all(terms.map((one) => sluice.withdraw(one)));
  const results = await Promise.all(terms.map(({ id }) => sluice.waitForFinal(id, { pollMs: 2_000 })));
  return results.every(({ status }) => status === 'finalized');
}

/** A withdrawal of which the first attempt has landed: on a busy machine that of a few may die. */
async function paidAtOnce(): Promise<string> {
  for (let n = 0; ; n += 1) {
    const id = `alone-${n}`;
    const destination = newWallet();
    await payAll([{ id, asset: 'SOL', amount: '1000000', destination, acceptEmptyWallet: true }]);
    if ((await running.sluice.get(id)).attempts.length === 1) return id;
  }
}

const sum = (spent: Spent): bigint => Object.values(spent).reduce((total, lamports) => total + lamports, 0n);

describe('a withdrawal', () => {
  it('of 200 equal ones is 200 transactions and 200 transfers, to the lamport', async () => {
    const { hotWallet } = running.stack;
    const before = await hand.lamports(hotWallet);
    const equal = { asset: 'SOL', amount: '1000000', destination: newWallet(), acceptEmptyWallet: true };
    const tokens = { asset: hand.mint('mint'), amount: '5', acceptEmptyWallet: true };
    const all = [
      ...Array.from({ length: 200 }, (_, index) => ({ id: `equal-${index}`, ...equal })),
      // Rents must add up as well: each of these makes a token account.
      ...Array.from({ length: 5 }, (_, index) => ({
        id: `token-${index}`,
        ...tokens,
        destination: newWallet(),
      })),
    ];
    expect(await payAll(all)).toBe(true);

    const payments = await hand.paymentsTo(equal.destination);
    expect(payments.map(({ received }) => received)).toEqual(Array(200).fill(1_000_000n));
    expect(new Set(payments.map(({ signature }) => signature)).size).toBe(200);
    const { chain, record, live, openReservations } = await readBooks(running.stack);
    expect(Object.keys(chain)).toHaveLength(205);
    expect(record).toEqual(chain);
    expect(BigInt(before - (await hand.lamports(hotWallet)))).toBe(sum(record));
    expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
  }, 480_000);

  it('takes at most 30 history events when the first attempt lands, and its history replays', async () => {
    const workflowId = withdrawalWorkflowId(await paidAtOnce());
    const connection = await Connection.connect({ address: running.stack.temporal.address });
    try {
      const handle = new Client({ connection }).workflow.getHandle(workflowId);
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
    const connection = await Connection.connect({ address: running.stack.temporal.address });
    try {
      const client = new Client({ connection });
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
