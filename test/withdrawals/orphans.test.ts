import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { paymentsOnChain } from '../../src/localstack/chain-truth.ts';
import { newWallet, type TestStack, testStack } from '../support/stack.ts';
import { ChainHand, query, reaches, until } from './outcomes-support.ts';

let running: TestStack;
let chain: ChainHand;
let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  running = await testStack();
  chain = new ChainHand(running.stack);
  connection = await Connection.connect({ address: running.stack.temporal.address });
  temporal = new Client({ connection });
});

afterAll(async () => {
  await connection?.close();
  await running?.close();
});

/** Starts the round of the schedule that would come within a minute. */
async function nextRound(): Promise<void> {
  await temporal.schedule.getHandle('orphans').trigger();
}

/** A withdrawal whose bytes are signed and stored, and are swallowed by every node. */
async function onItsWay(id: string): Promise<string> {
  const destination = newWallet();
  await chain.swallowSends();
  await running.sluice.withdraw({
    id,
    asset: 'SOL',
    amount: '3000000',
    destination,
    acceptEmptyWallet: true,
  });
  await reaches(running.sluice, id, 'sending');
  return destination;
}

describe('a withdrawal whose run an operator', () => {
  it('terminated goes on by the schedule, with the same bytes, and is paid once', async () => {
    const destination = await onItsWay('terminated');
    const [before] = (await running.sluice.get('terminated')).attempts;
    const run = temporal.workflow.getHandle(withdrawalWorkflowId('terminated'));
    await run.terminate('by hand');
    // Rounds until the visibility store knows of the end.
    await until(async () => {
      await nextRound();
      await sleep(1_000);
      return (await run.describe()).status.name === 'RUNNING';
    });
    await chain.heal();
    const paid = await running.sluice.waitForFinal('terminated');
    expect(paid.status).toBe('finalized');
    expect(await run.result()).toMatchObject({ status: 'finalized' });
    expect(paid.attempts.map(({ signature }) => signature)).toEqual([before?.signature]);
    expect(await chain.paymentsTo(destination)).toHaveLength(1);
  });

  it('reset to its beginning goes on and is paid once', async () => {
    const destination = await onItsWay('reset');
    const workflowId = withdrawalWorkflowId('reset');
    const { runId } = await temporal.workflow.getHandle(workflowId).describe();
    await connection.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: 3 as never,
      requestId: 'reset-by-the-test',
      reason: 'by hand',
    });
    await chain.heal();
    expect((await running.sluice.waitForFinal('reset')).status).toBe('finalized');
    expect(await chain.paymentsTo(destination)).toHaveLength(1);
  });

  it('reset after it was paid is not paid again', async () => {
    const workflowId = withdrawalWorkflowId('reset');
    const { runId } = await temporal.workflow.getHandle(workflowId).describe();
    await connection.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: 3 as never,
      requestId: 'reset-after-the-end',
      reason: 'by hand',
    });
    expect(await temporal.workflow.getHandle(workflowId).result()).toMatchObject({ status: 'finalized' });
    const { destination } = await running.sluice.get('reset');
    expect(await chain.paymentsTo(destination)).toHaveLength(1);
  });
});

describe('a pause of all withdrawals', () => {
  it('holds what is new, lands what lives, and ends for all by itself', async () => {
    const living = await onItsWay('lives-through-a-pause');
    const who = { who: 'the test', why: 'to see it' };
    await query(running.stack, `insert into pause (cause, reason, who) values ('operator', $1, $2)`, [
      who.why,
      who.who,
    ]);
    await chain.heal();
    const destination = newWallet();
    await running.sluice.withdraw({
      id: 'new-in-a-pause',
      asset: 'SOL',
      amount: '4000000',
      destination,
      acceptEmptyWallet: true,
    });
    const held = await reaches(running.sluice, 'new-in-a-pause', 'held');
    expect(held).toMatchObject({
      reason: { code: 'paused', message: 'paused: to see it (by the test)' },
      attempts: [],
    });
    expect((await running.sluice.waitForFinal('lives-through-a-pause')).status).toBe('finalized');
    expect(await chain.paymentsTo(living)).toHaveLength(1);
    const { attempts } = await running.sluice.get('new-in-a-pause');
    expect(attempts).toEqual([]);

    await query(running.stack, `update pause set ended_at = now(), ended_by = $1, ended_why = $2`, [
      who.who,
      who.why,
    ]);
    expect((await running.sluice.waitForFinal('new-in-a-pause')).status).toBe('finalized');
    expect(await chain.paymentsTo(destination)).toHaveLength(1);
  });
});

describe('a whole Temporal database lost', () => {
  it('is got over: every unfinished withdrawal goes on and is paid once', async () => {
    const { stack, sluice } = running;
    await chain.swallowSends();
    const ids = Array.from({ length: 5 }, (_, index) => `temporal-lost-${index}`);
    const destinations = ids.map(() => newWallet());
    await Promise.all(
      ids.map((id, index) =>
        sluice.withdraw({
          id,
          asset: 'SOL',
          amount: '5000000',
          destination: destinations[index] ?? '',
          acceptEmptyWallet: true,
        }),
      ),
    );
    const waiting = newWallet();
    await sluice.withdraw({
      id: 'temporal-lost-asking',
      asset: 'SOL',
      amount: '5000000',
      destination: waiting,
    });
    await reaches(sluice, 'temporal-lost-asking', 'awaiting_confirmation');
    for (const id of ids) await reaches(sluice, id, 'sending');
    await stack.temporalServer?.restart();
    await chain.heal();
    const ends = await Promise.all(ids.map((id) => sluice.waitForFinal(id)));
    expect(ends.map(({ status }) => status)).toEqual(ids.map(() => 'finalized'));
    await sluice.confirm('temporal-lost-asking');
    expect((await sluice.waitForFinal('temporal-lost-asking')).status).toBe('finalized');

    const payments = await paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet);
    for (const wallet of [...destinations, waiting])
      expect(payments.filter((payment) => payment.wallet === wallet)).toHaveLength(1);
  }, 240_000);
});
