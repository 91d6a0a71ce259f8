import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { type ChainPayment, paymentsOnChain } from '../../src/localstack/chain-truth.ts';
import { newWallet, startCrashingWorker, type TestStack, testStack } from '../support/stack.ts';

/** Every call that a withdrawal makes on the record or the chain, in the order of the plot. */
const STEPS = [
  'withdrawals.reserve',
  'attempts.prepare',
  'attempts.storeSignature',
  'chain.send',
  'withdrawals.note',
  'attempts.settle',
];
const CRASHES = STEPS.flatMap((step) => [`before ${step}`, `after ${step}`]);

let running: TestStack;

beforeAll(async () => {
  running = await testStack();
});

afterAll(async () => running?.close());

async function paymentsTo(wallets: readonly string[]): Promise<readonly ChainPayment[]> {
  const payments = await paymentsOnChain(running.stack.rpcUrls[0] ?? '', running.stack.hotWallet);
  return payments.filter((payment) => wallets.includes(payment.wallet));
}

describe('a withdrawal', () => {
  it('of 200 equal ones is 200 transactions and 200 transfers, to the lamport', async () => {
    const { sluice } = running;
    const destination = newWallet();
    const ids = Array.from({ length: 200 }, (_, index) => `equal-${index}`);
    const terms = { asset: 'SOL', amount: '1000000', destination, acceptEmptyWallet: true };
    await Promise.all(ids.map((id) => sluice.withdraw({ id, ...terms })));
    const results = await Promise.all(ids.map((id) => sluice.waitForFinal(id, { pollMs: 2_000 })));

    expect(results.filter((result) => result.status !== 'finalized')).toEqual([]);
    const payments = await paymentsTo([destination]);
    expect(payments).toHaveLength(200);
    expect(new Set(payments.map((payment) => payment.signature)).size).toBe(200);
    expect(payments.reduce((sum, payment) => sum + payment.received, 0n)).toBe(200_000_000n);
  }, 240_000);

  it('takes at most 30 history events when the first attempt lands, and its history replays', async () => {
    const connection = await Connection.connect({ address: running.stack.temporal.address });
    try {
      const handle = new Client({ connection }).workflow.getHandle(withdrawalWorkflowId('equal-0'));
      const history = await handle.fetchHistory();
      expect(history.events?.length).toBeLessThanOrEqual(30);
      const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
      await Worker.runReplayHistory({ workflowsPath }, history, withdrawalWorkflowId('equal-0'));
    } finally {
      await connection.close();
    }
  });

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

  it('pays exactly once when the worker is killed on either side of any step', async () => {
    const { stack, sluice } = running;
    await stack.worker.kill('SIGKILL');
    const destinations = CRASHES.map(() => newWallet());
    for (const [index, at] of CRASHES.entries()) {
      const id = `crash-${index}`;
      const worker = await startCrashingWorker(stack, at, id);
      const terms = {
        id,
        asset: 'SOL',
        amount: String(2_000_000 + index),
        destination: destinations[index] ?? '',
      };
      await sluice.withdraw({ ...terms, acceptEmptyWallet: true });
      await worker.exited;
    }
    await stack.worker.start();
    const results = await Promise.all(CRASHES.map((_, index) => sluice.waitForFinal(`crash-${index}`)));

    expect(results.filter((result) => result.status !== 'finalized')).toEqual([]);
    const payments = await paymentsTo(destinations);
    const paid = CRASHES.map((_, index) =>
      payments.filter((payment) => payment.wallet === destinations[index]).map((payment) => payment.received),
    );
    expect(paid).toEqual(CRASHES.map((_, index) => [BigInt(2_000_000 + index)]));
  }, 420_000);
});
