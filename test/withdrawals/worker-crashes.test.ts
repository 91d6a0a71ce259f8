import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { paymentsOnChain } from '../../devkit/localstack/chain-truth.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Withdrawal } from '../../src/client/client.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { ChainClock } from '../support/chain-clock.ts';
import { startCrashingWorker } from '../support/crash.ts';
import { SLOT_MS, type TestStack, testStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { ChainControls, settledBooks, waitForStatus, waitForTakeover } from './outcomes-support.ts';

/**
 * Where the workers of one withdrawal are killed, one after the other: on both sides of the send, and where the database has what
 * Temporal does not have. In `step-failures.test.ts` these and other calls throw, in all orders.
 */
const CRASHES: readonly (readonly string[])[] = [
  ['after withdrawals.reserve', 'before attempts.prepare'],
  ['after attempts.prepare', 'before attempts.storeSignature'],
  ['after attempts.storeSignature', 'before chain.send'],
  ['after chain.send', 'after chain.send'],
  ['after settlements.note confirmed', 'after attempts.settle'],
];

const PAUSING = 0;
const SEVERAL_POLLS_MS = 2_000;

let running: TestStack;
let hand: ChainControls;
let clock: ChainClock;
let amount = 2_000_000;

beforeAll(async () => {
  running = await testStack(PAUSING);
  hand = new ChainControls(running.stack);
  clock = new ChainClock(hand.url, SLOT_MS);
});
beforeEach(() => clock.run());
afterAll(async () => {
  await clock?.pause();
  await running?.close();
});

/** Each pays another amount to a wallet of its own. */
function newTerms(id: string): WithdrawalTerms {
  amount += 1;
  return { id, asset: 'SOL', amount: String(amount), destination: newAddress(), acceptEmptyWallet: true };
}

/** Runs a worker with the withdrawal up to this point, where it kills itself. */
async function crash(at: string, terms: WithdrawalTerms): Promise<void> {
  const worker = await startCrashingWorker(running.stack, at, terms);
  await running.sluice.withdraw(terms);
  await worker.crashed();
}

async function endOf({ id }: WithdrawalTerms): Promise<Withdrawal> {
  return running.sluice.waitForFinal(id, { pollMs: 500 });
}

/** In the blocks: one payment of the right amount; in the database: one landed attempt, and all others proved dead. */
async function expectPaidOnce(all: readonly WithdrawalTerms[]): Promise<void> {
  const ends = await Promise.all(all.map(endOf));
  expect(ends.filter(({ status }) => status !== 'finalized')).toEqual([]);
  const { chain, record, live, openReservations } = await settledBooks(running.stack);
  expect(record).toEqual(chain);
  expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
  const payments = await paymentsOnChain(hand.url, running.stack.hotWallet);
  for (const [index, terms] of all.entries()) {
    const states = ends[index]?.attempts.map(({ state }) => state);
    expect(states).toEqual([...Array((states?.length ?? 1) - 1).fill('dead'), 'landed']);
    const signature = ends[index]?.attempts.at(-1)?.signature;
    expect(payments.filter(({ wallet }) => wallet === terms.destination)).toMatchObject([
      { signature, received: BigInt(terms.amount) },
    ]);
  }
}

describe('a withdrawal whose worker is killed', () => {
  it('on either side of a step, and once more at the next, is paid exactly once (private-channels #149, elizaOS #10598 and #10628, steward #620, private-channels SOLA3-1)', async () => {
    await running.stack.worker.kill('SIGKILL');
    const all = CRASHES.map((_, index) => newTerms(`crash-${index}`));
    for (const [index, terms] of all.entries()) {
      for (const at of CRASHES[index] ?? []) await crash(at, terms);
    }
    await running.stack.worker.start();
    await expectPaidOnce(all);
  }, 600_000);

  it('with its bytes stored and not sent continues with the same bytes (OpenZeppelin relayer, the-web3 sol-wallet)', async () => {
    await running.stack.worker.kill('SIGKILL');
    const terms = newTerms('resumed');
    await crash('before chain.send', terms);
    await clock.pause();
    const crashed = await running.sluice.get(terms.id);
    expect(crashed.attempts).toMatchObject([{ state: 'signed', signature: expect.any(String) }]);
    await running.stack.worker.start();
    await waitForTakeover(running.stack, terms.id, running.stack.worker);
    clock.run();
    expect(await endOf(terms)).toMatchObject({
      status: 'finalized',
      attempts: [{ state: 'landed', signature: crashed.attempts[0]?.signature }],
    });
  }, 240_000);
});

describe('a landed transaction', () => {
  it('that no second node returns is not final, until a second node returns it', async () => {
    const { stack, sluice } = running;
    await stack.worker.start();
    for (const node of stack.rpcUrls.keys())
      await rpc(hand.url, 'localnet_setFault', [node, 'getTransaction', { kind: 'null' }]);
    const terms = newTerms('unseconded');
    await sluice.withdraw(terms);
    await until(async () => (await hand.lamports(terms.destination)) > 0);
    await waitForStatus(sluice, terms.id, 'confirmed');
    await sleep(SEVERAL_POLLS_MS);
    expect(await sluice.get(terms.id)).toMatchObject({
      status: 'confirmed',
      attempts: [{ state: 'signed' }],
    });
    await hand.heal();
    expect(await endOf(terms)).toMatchObject({ status: 'finalized' });
  }, 120_000);
});
