import { describe, expect, it } from 'vitest';
import { backfillWorkflowId } from '../../src/domain/backfill.ts';
import { settlementWorkflowId, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { NONCE_CREATE, settlementId } from '../../src/domain/settlement-kinds.ts';
import { TIMEOUTS } from '../../src/domain/timeouts.ts';
import type { AttemptOutcome } from '../../src/ledger/settlements/attempts.ts';
import { createMissingRunStarter, type WorkflowRuns } from '../../src/settlement/restart-unfinished.ts';
import { nonceKinds } from '../../src/treasury/nonce-accounts.ts';
import { x402Kind } from '../../src/x402/kind.ts';
import { START } from '../ledger/chain-of-blocks.ts';
import { newPayment } from '../ledger/new-payment.ts';
import { attempt, DEAD, newId, PLENTY, REASON, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { landedWithdrawals } from '../support/withdrawal-kind.ts';

const use = useLedger();

async function reserved(prefix: string): Promise<string> {
  const id = newId(prefix);
  await use.ledger.withdrawals.reserve(terms(id));
  return id;
}

/** One round, with a Temporal in which these runs continue and every other ended so. */
async function round(
  going: readonly string[],
  end: 'completed' | 'failed' | 'none',
): Promise<readonly string[]> {
  const started: string[] = [];
  const runs: WorkflowRuns = {
    running: async () => new Set([...going.map(withdrawalWorkflowId), ...going]),
    lastEnd: async () => end,
    start: async ({ id }) => void started.push(id),
    startSettlement: async (settlement) => void started.push(settlementWorkflowId(settlement)),
    startBackfill: async (order) => void started.push(backfillWorkflowId(order)),
    runningBackfills: async () => new Map(),
  };
  const unused = undefined as never;
  const nonces = nonceKinds({ ledger: use.ledger, hotWallet: 'hot', chain: unused, fees: unused });
  const x402 = x402Kind({ ledger: use.ledger, chain: unused, lifetimes: unused, feePayers: [] });
  const kinds = { ...landedWithdrawals(use.ledger), ...nonces, x402 };
  const { restarted } = await createMissingRunStarter({ ledger: use.ledger, runs, kinds }).startMissingRuns();
  expect(restarted).toBe(started.length);
  return started;
}

describe('the restart of missing runs', () => {
  it('starts every unfinished withdrawal without a run, and nothing else', async () => {
    const [orphan, going, over] = [await reserved('orphan'), await reserved('going'), await reserved('over')];
    await use.ledger.settlements.move(over, 'rejected', REASON);
    expect(await round([going], 'none')).toEqual([orphan]);
    expect((await use.ledger.alerts.list({ limit: 9 })).rows).toEqual([]);
    for (const id of [orphan, going]) await use.ledger.settlements.move(id, 'rejected', REASON);
  });

  it('starts every recorded rescan without a run, even after an outage of Temporal', async () => {
    const { backfills, scan } = use.ledger;
    await scan.start({ ...START, slot: 1n, parentSlot: 0n });
    await use.ledger.db.updateTable('scanCursor').set({ slot: 4n }).execute();
    for (const to of [2n, 3n, 4n]) await backfills.begin({ from: 1n, to, actor: 'ops', reason: 'a test' });
    await backfills.giveUp({ from: 1n, to: 4n }, 'over');
    expect(await round(['backfill/blocks/1-3'], 'none')).toEqual(['backfill/blocks/1-2']);
    for (const to of [2n, 3n]) await backfills.giveUp({ from: 1n, to }, 'over');
  });

  it('starts the run of a final payment that is not served', async () => {
    const payment = newPayment();
    await use.ledger.payments.open(payment);
    const { db } = use.ledger;
    await db.updateTable('settlement').set({ status: 'finalized' }).where('id', '=', payment.id).execute();
    const paidAt = new Date(Date.now() - 3_600_000);
    const owed = db.updateTable('payment').set({ state: 'owed', paidAt }).where('id', '=', payment.id);
    expect(await round([], 'completed')).toEqual([]);
    await owed.execute();
    expect(await round([], 'completed')).toEqual([payment.id]);
    expect(await round([payment.id], 'completed')).toEqual([]);
    await use.ledger.obligations.markServed(payment.id, 200, null);
    expect(await round([], 'completed')).toEqual([]);
  });

  it('leaves payments alone while a request has their lease', async () => {
    const payment = newPayment();
    await use.ledger.payments.open(payment);
    expect(await round([], 'none')).toEqual([]);
    await use.ledger.obligations.release(payment.id, 'me');
    expect(await round([], 'none')).toEqual([payment.id]);
    await use.ledger.settlements.cancel(payment.id, REASON);
  });

  it('starts the run of a payment that was signed with its row once it is late, during the lease of a request too', async () => {
    const payment = newPayment();
    const signed = attempt(payment.id, 1, { signers: [payment.feePayer], signatures: [newId('sig')] });
    await use.ledger.payments.openSigned(payment, signed);
    expect(await round([], 'none')).toEqual([]);
    const createdAt = new Date(Date.now() - TIMEOUTS.latePaymentMs - 1);
    await use.ledger.db.updateTable('payment').set({ createdAt }).where('id', '=', payment.id).execute();
    expect(await round([], 'none')).toEqual([payment.id]);
    await use.ledger.attempts.settle(payment.id, 1, DEAD);
  });

  it('cancels an unsigned payment of a route that is served first, and starts a signed one', async () => {
    const [unsigned, prepared] = [newPayment({ isAsked: true }), newPayment({ isAsked: true })];
    for (const { id } of [unsigned, prepared]) {
      await use.ledger.payments.open(newPayment({ id, isAsked: true }));
      await use.ledger.obligations.release(id, 'me');
    }
    await use.ledger.attempts.prepare(attempt(prepared.id), PLENTY);
    expect(await round([], 'none')).toEqual([prepared.id]);
    expect(await use.ledger.payments.find(unsigned.id)).toMatchObject({ state: 'void' });
    expect(await use.ledger.payments.find(prepared.id)).toMatchObject({ state: 'settling' });
    expect(await round([prepared.id], 'none')).toEqual([]);
    await use.ledger.attempts.settle(prepared.id, 1, DEAD);
  });

  it('cancels a payment that the signer has refused until its message has expired', async () => {
    const payment = newPayment();
    await use.ledger.payments.open(payment);
    await use.ledger.obligations.release(payment.id, 'me');
    await use.ledger.settlements.move(payment.id, 'held', { code: 'signing_refused', message: 'a limit' });
    expect(await round([], 'none')).toEqual([payment.id]);
    const createdAt = new Date(Date.now() - 301_000);
    await use.ledger.db.updateTable('payment').set({ createdAt }).where('id', '=', payment.id).execute();
    expect(await round([], 'none')).toEqual([]);
    expect(await use.ledger.payments.find(payment.id)).toMatchObject({ state: 'void' });
  });

  it('reports runs that failed', async () => {
    const id = await reserved('red');
    expect(await round([], 'failed')).toEqual([id]);
    const [alert] = (await use.ledger.alerts.list({ open: true, limit: 1 })).rows;
    expect(alert).toMatchObject({ kind: 'workflow_failed', subject: id });
    await use.ledger.settlements.move(id, 'rejected', REASON);
  });

  it('stops a withdrawal whose run ended without a stored end, until an operator releases it', async () => {
    const id = await reserved('ended');
    expect(await round([], 'completed')).toEqual([id]);
    expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toMatchObject({
      kind: 'stopped',
      reason: { code: 'maybe_paid' },
    });
    await use.ledger.alerts.close('maybe_paid', id);
    await round([], 'completed');
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('prepared');
  });

  it('restarts a terminated nonce upkeep, at any step, and none of another wallet', async () => {
    const register = (wallet: string) =>
      use.ledger.nonces.register(wallet, (position) => `${wallet}/${position}`);
    const [unmade, onItsWay, dead, going, made] = await Promise.all([
      register('hot'),
      register('hot'),
      register('hot'),
      register('hot'),
      register('hot'),
      register('another'),
    ]);
    for (const { address } of [onItsWay, dead, going, made])
      await use.ledger.attempts.prepare(attempt(idOf(address)), PLENTY);
    await ended(made.address, { state: 'landed', slot: 9n, proof: null });
    await ended(dead.address, DEAD);
    const started = await round([idOf(going.address)], 'none');
    expect(started.filter((id) => id.startsWith('nonce-')).toSorted()).toEqual(
      [unmade, onItsWay, dead].map(({ address }) => `nonce-create/${address}`).toSorted(),
    );
  });
});

function idOf(address: string): string {
  return settlementId(NONCE_CREATE, address);
}

async function ended(address: string, outcome: AttemptOutcome): Promise<void> {
  await use.ledger.attempts.storeSignature(idOf(address), 1, `signature-${address}`);
  await use.ledger.attempts.settle(idOf(address), 1, outcome);
}
