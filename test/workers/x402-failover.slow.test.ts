import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startCrashingGateway, startCrashingX402 } from '../support/crash.ts';
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

/** A payment whose x402 worker dies at `at`, and whose gateway dies before it stores the payment itself. */
async function diedAt(at: string): Promise<CrashPayment> {
  const { stack } = sales.running;
  const payment = await sales.newPayment('item');
  const own = { socket: join(mkdtempSync(join(tmpdir(), 'sluice-')), 'x402.sock') };
  const [gateway, worker] = await Promise.all([
    startCrashingGateway(stack, 'before payments.open', payment.victim, own),
    startCrashingX402(stack, at, payment.victim, own),
  ]);
  await sold(gateway.url);
  expect(await payment.present(gateway.url)).toBeNull();
  await Promise.all([worker.crashed(), gateway.crashed()]);
  return payment;
}

describe('a failover of PostgreSQL between the commit of a direct settlement and the start of its run', () => {
  it('loses nothing if the standby has the commit: the buyer is served once, for one payment', async () => {
    const payment = await diedAt('after payments.openSigned');
    const [attempt] = await sales.ledger.attempts.of(payment.id);
    await postgres.failOver();
    await sales.untilAnswered(payment);
    await sales.expectPaidOnce(payment);
    expect(await sales.ledger.attempts.of(payment.id)).toMatchObject([{ signature: attempt?.signature }]);
    expect(await sales.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });
  });

  it.each([
    // The send and the start run at the same time.
    ['after workflow.start', [0, 1]],
    ['after chain.send', [1]],
  ])(
    'waits for an operator if the standby lacks the commit, and pays no second time: %s',
    async (at, transfers) => {
      await postgres.cutReplication();
      const payment = await diedAt(at);
      const [lost] = await sales.ledger.attempts.of(payment.id);
      expect(lost).toMatchObject({ n: 1, signature: expect.any(String) });
      await postgres.failOver();
      const { ledger } = sales;
      await vi.waitFor(async () => {
        const { rows } = await ledger.alerts.list({ open: true, limit: 50 });
        const found = rows.find(({ kind, subject }) => kind === 'attempt_lost' && subject === payment.id);
        expect(found?.details).toEqual({ n: 1, signature: lost?.signature });
      }, 90_000);
      const open = await ledger.pauses.listOpen();
      expect(open.map(({ scope }) => scope)).toContain('all');
      const [status] = (await payment.present(sales.gatewayUrl)) ?? [];
      expect(status).not.toBe(200);
      expect(await ledger.attempts.of(payment.id)).toEqual([]);
      expect(sales.asked.get(payment.target)).toBeUndefined();
      const inBlocks = await sales.inBlocks();
      expect(transfers).toContain(inBlocks.length);
      expect(new Set([...inBlocks, lost?.signature]).size).toBe(1);
    },
  );
});
