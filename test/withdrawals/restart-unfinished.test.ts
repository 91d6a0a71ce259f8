import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { paymentsOnChain } from '../../devkit/localstack/chain-truth.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { until } from '../support/until.ts';
import { query, waitForStatus } from './outcomes-support.ts';
import { NO_AUTOMATIC_SLOTS, useClock, useStack } from './use-stack.ts';

const use = useStack(NO_AUTOMATIC_SLOTS, {}, 'own');
const clock = useClock(use);

/** Starts the round of the schedule that runs every minute. */
async function nextRound(): Promise<void> {
  await use.temporal.schedule.getHandle('restartUnfinished').trigger();
}

/** Does the same as an operator's reset to the first event. */
async function resetToStart(id: string): Promise<void> {
  const { workflow, workflowService } = use.temporal;
  const workflowId = withdrawalWorkflowId(id);
  const { runId } = await workflow.getHandle(workflowId).describe();
  await workflowService.resetWorkflowExecution({
    namespace: use.stack.temporal.namespace,
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: 3 as never,
    requestId: randomUUID(),
    reason: 'by hand',
  });
}

/** A withdrawal whose bytes are signed and stored, while every node drops them. */
async function onItsWay(id: string): Promise<string> {
  const destination = newAddress();
  await use.chain.swallowSends();
  await use.sluice.withdraw({
    id,
    asset: 'SOL',
    amount: '3000000',
    destination,
    acceptEmptyWallet: true,
  });
  await waitForStatus(use.sluice, id, 'sending');
  return destination;
}

describe('a withdrawal whose run an operator has', () => {
  it('terminated is continued by the schedule, with the same bytes, and is paid once', async () => {
    const destination = await onItsWay('terminated');
    // Its attempt must not expire before the run continues.
    await clock.pause();
    const [before] = (await use.sluice.get('terminated')).attempts;
    const run = use.temporal.workflow.getHandle(withdrawalWorkflowId('terminated'));
    await run.terminate('by hand');
    // Repeats the round until the visibility store has the end of the run.
    await until(async () => {
      await nextRound();
      await sleep(1_000);
      return (await run.describe()).status.name === 'RUNNING';
    });
    clock.run();
    await use.chain.heal();
    const paid = await use.sluice.waitForFinal('terminated');
    expect(paid.status).toBe('finalized');
    expect(await run.result()).toMatchObject({ status: 'finalized' });
    expect(paid.attempts.map(({ signature }) => signature)).toEqual([before?.signature]);
    expect(await use.chain.paymentsTo(destination)).toHaveLength(1);
  });

  it('reset to its beginning continues and is paid once', async () => {
    const destination = await onItsWay('reset');
    await resetToStart('reset');
    await use.chain.heal();
    expect((await use.sluice.waitForFinal('reset')).status).toBe('finalized');
    expect(await use.chain.paymentsTo(destination)).toHaveLength(1);
  });

  it('reset after its payment is not paid again', async () => {
    const destination = await onItsWay('reset-when-paid');
    await use.chain.heal();
    const run = use.temporal.workflow.getHandle(withdrawalWorkflowId('reset-when-paid'));
    expect(await run.result()).toMatchObject({ status: 'finalized' });
    await resetToStart('reset-when-paid');
    expect(await run.result()).toMatchObject({ status: 'finalized' });
    expect(await use.chain.paymentsTo(destination)).toHaveLength(1);
  });
});

describe('a pause of all withdrawals', () => {
  it('holds new withdrawals, lands live attempts, and ends for all withdrawals by itself', async () => {
    const living = await onItsWay('lives-through-a-pause');
    const note = { actor: 'the test', reason: 'to see it' };
    await query(use.stack, `insert into pause (cause, reason, actor) values ('operator', $1, $2)`, [
      note.reason,
      note.actor,
    ]);
    await use.chain.heal();
    const destination = newAddress();
    await use.sluice.withdraw({
      id: 'new-in-a-pause',
      asset: 'SOL',
      amount: '4000000',
      destination,
      acceptEmptyWallet: true,
    });
    const held = await waitForStatus(use.sluice, 'new-in-a-pause', 'held');
    expect(held).toMatchObject({
      reason: { code: 'paused', message: 'paused: to see it (by the test)' },
      attempts: [],
    });
    expect((await use.sluice.waitForFinal('lives-through-a-pause')).status).toBe('finalized');
    expect(await use.chain.paymentsTo(living)).toHaveLength(1);
    const { attempts } = await use.sluice.get('new-in-a-pause');
    expect(attempts).toEqual([]);

    await query(use.stack, `update pause set ended_at = now(), ended_by = $1, ended_reason = $2`, [
      note.actor,
      note.reason,
    ]);
    expect((await use.sluice.waitForFinal('new-in-a-pause')).status).toBe('finalized');
    expect(await use.chain.paymentsTo(destination)).toHaveLength(1);
  });
});

describe('the loss of a whole Temporal database', () => {
  it('leaves every unfinished withdrawal to continue and to be paid once', async () => {
    const { stack, sluice } = use;
    await use.chain.swallowSends();
    const ids = Array.from({ length: 5 }, (_, index) => `temporal-lost-${index}`);
    const destinations = ids.map(() => newAddress());
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
    const waiting = newAddress();
    await sluice.withdraw({
      id: 'temporal-lost-asking',
      asset: 'SOL',
      amount: '5000000',
      destination: waiting,
    });
    await waitForStatus(sluice, 'temporal-lost-asking', 'awaiting_confirmation');
    for (const id of ids) await waitForStatus(sluice, id, 'sending');
    await stack.temporalServer?.restart();
    await use.chain.heal();
    const ends = await Promise.all(ids.map((id) => sluice.waitForFinal(id)));
    expect(ends.map(({ status }) => status)).toEqual(ids.map(() => 'finalized'));
    await sluice.confirm('temporal-lost-asking');
    expect((await sluice.waitForFinal('temporal-lost-asking')).status).toBe('finalized');

    const payments = await paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet);
    for (const wallet of [...destinations, waiting])
      expect(payments.filter((payment) => payment.wallet === wallet)).toHaveLength(1);
  }, 240_000);
});
