import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AttemptRow } from '../../src/ledger/settlements/attempts.ts';
import { type Crashing, startCrashingGateway, startCrashingX402 } from '../support/crash.ts';
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/standby.ts';
import { type CrashPayment, CrashSales, sold } from './crash-sales.ts';

let postgres: ReplicatedPostgres;
let sales: CrashSales;

beforeEach(async () => {
  postgres = await startReplicatedPostgres();
  sales = await CrashSales.open({ DATABASE_URL: postgres.url });
});
afterEach(async () => {
  await sales?.close();
  await postgres?.stop();
});

/** A payment whose gateway dies before it stores the payment itself, and whose x402 worker dies at `at`, if it is given. */
async function abandoned(at = ''): Promise<{ readonly payment: CrashPayment; readonly worker: Crashing }> {
  const { stack } = sales.running;
  const payment = await sales.newPayment('order');
  const own = { socket: join(mkdtempSync(join(tmpdir(), 'sluice-')), 'x402.sock') };
  const gatewayAt = at === '' ? 'before obligations.take' : 'before payments.open';
  const [gateway, worker] = await Promise.all([
    startCrashingGateway(stack, gatewayAt, payment.victim, own),
    startCrashingX402(stack, at, payment.victim, own),
  ]);
  await sold(gateway.url);
  expect(await payment.present(gateway.url)).toBeNull();
  await gateway.crashed();
  if (at !== '') await worker.crashed();
  return { payment, worker };
}

async function untilAlert(kind: string, subject: string) {
  return vi.waitFor(async () => {
    const { rows } = await sales.ledger.alerts.list({ open: true, limit: 50 });
    const found = rows.find((alert) => alert.kind === kind && alert.subject === subject);
    if (found === undefined) throw new Error(`no alert ${kind} about ${subject}`);
    return found;
  }, 120_000);
}

/** Before its first check, which comes within a minute, the transactions of a fee payer are not judged. */
async function untilHistoryBegins(): Promise<void> {
  const { walletHistory } = sales.ledger;
  await vi.waitFor(async () => {
    const [feePayer = ''] = await walletHistory.feePayers();
    expect(await walletHistory.judgedTo(feePayer)).not.toBeNull();
  }, 90_000);
}

/** The stored attempt, which the standby gets or not. */
async function attemptOf({ id }: CrashPayment): Promise<AttemptRow> {
  const [attempt] = await sales.ledger.attempts.of(id);
  if (attempt === undefined) throw new Error(`${id} has no attempt`);
  return attempt;
}

describe('a failover of PostgreSQL after the commit of a direct settlement', () => {
  it('loses nothing if the standby has the commit: the buyer is served once, for one payment', async () => {
    const { payment } = await abandoned('after payments.openSigned');
    const { signature } = await attemptOf(payment);
    await postgres.failOver();
    await sales.untilAnswered(payment);
    await sales.expectPaidOnce(payment);
    expect(await sales.ledger.attempts.of(payment.id)).toMatchObject([{ signature }]);
    expect(await sales.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });
  });

  it('waits for an operator if the standby lacks the commit, and pays no second time', async () => {
    await postgres.cutReplication();
    const { payment, worker } = await abandoned();
    const { signature } = await attemptOf(payment);
    await postgres.failOver();
    const { details } = await untilAlert('attempt_lost', payment.id);
    expect(details).toEqual({ n: 1, signature });
    const { ledger } = sales;
    const open = await ledger.pauses.listOpen();
    expect(open.map(({ scope }) => scope)).toContain('all');
    const [status] = (await payment.present(sales.gatewayUrl)) ?? [];
    expect(status).not.toBe(200);
    expect(await ledger.attempts.of(payment.id)).toEqual([]);
    expect(sales.asked.get(payment.target)).toBeUndefined();
    expect(await sales.inBlocks()).toEqual([signature]);
    await worker.stop();
  });

  it('reports the transfer if the standby lacks the commit, and every process that knew it has died', async () => {
    await untilHistoryBegins();
    await postgres.cutReplication();
    const { payment } = await abandoned('after chain.send');
    const { signature } = await attemptOf(payment);
    await postgres.failOver();
    await untilAlert('unknown_spend', signature ?? '');
    const [status] = (await payment.present(sales.gatewayUrl)) ?? [];
    expect(status).not.toBe(200);
    expect(await sales.ledger.attempts.of(payment.id)).toEqual([]);
    expect(await sales.inBlocks()).toEqual([signature]);
  }, 300_000);
});
