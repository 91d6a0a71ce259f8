import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { SettlementStatus } from '../../src/domain/settlement.ts';
import { EVENTS_BY_KIND } from '../../src/ledger/ledger.ts';
import { enterStatus } from '../../src/ledger/settlements/settlement-row.ts';
import type { NewPayment } from '../../src/ledger/x402/payments.ts';
import { Budgets } from '../../src/x402/budgets.ts';
import { feePayerWatch } from '../../src/x402/fee-payer-watch.ts';
import type { ExactPayment } from '../../src/x402/terms.ts';
import { hex, newPayment } from '../ledger/new-payment.ts';
import { useLedger } from '../ledger/support.ts';

const use = useLedger();

function budgets(feePayer = 1_000_000n, buyer = 1_000_000n): Budgets {
  return new Budgets({ ledger: use.ledger, budgets: { feePayer, buyer, facilitatorCaller: 1_000_000n } });
}

function by(feePayer: string, payer: string): ExactPayment {
  return { feePayer, payer } as ExactPayment;
}

/** A payment whose settlement has these statuses, one after the other. */
async function paid(change: Partial<NewPayment>, ...statuses: readonly SettlementStatus[]): Promise<void> {
  const { id } = newPayment();
  await use.ledger.payments.open(newPayment({ ...change, id }));
  for (const status of statuses)
    await use.ledger.db.transaction().execute((trx) => enterStatus(trx, EVENTS_BY_KIND, id, status));
}

/** Payments of a route, of which so many have failed on chain: each of another buyer, or all of `payer`. */
async function history(route: string, all: number, failed: number, payer?: string): Promise<void> {
  for (let n = 0; n < all; n += 1) {
    const end = n < failed ? 'failed' : 'confirmed';
    await paid({ route, payer: payer ?? hex() }, 'preparing', 'sending', end);
  }
}

describe('a payment at our cost', () => {
  it('is refused where its fee payer, or its buyer, has exceeded the hourly budget', async () => {
    const [feePayer, payer] = [hex(), hex()];
    expect(await budgets().refusal(by(feePayer, payer), 'r')).toBeNull();
    await use.ledger.payments.open(newPayment({ feePayer, payer }));
    expect(await budgets(10_000n).refusal(by(feePayer, hex()), 'r')).toContain(
      `fee payer ${feePayer} has spent`,
    );
    expect(await budgets(1_000_000n, 10_000n).refusal(by(hex(), payer), 'r')).toContain(
      `payments of ${payer}`,
    );
  });

  it('does not count for a budget if it ended before it was signed, or never landed', async () => {
    const [feePayer, payer] = [hex(), hex()];
    await paid({ feePayer, payer }, 'cancelled');
    await paid({ feePayer, payer }, 'preparing', 'sending', 'dead');
    await paid({ feePayer, payer }, 'preparing', 'sending', 'failed');
    expect(await budgets(10_001n).refusal(by(feePayer, hex()), 'r')).toBeNull();
    expect(await budgets(10_000n).refusal(by(feePayer, hex()), 'r')).toContain('has spent its fee budget');
  });

  it.each([
    [20, 10, true],
    [20, 9, false],
    [10, 5, true],
    [9, 9, false],
  ])('of %i on its route, %i failed, is refused: %s', async (all, failed, isRefused) => {
    const route = hex();
    await history(route, all, failed);
    const refusal = await budgets().refusal(by(hex(), hex()), route);
    expect(refusal !== null).toBe(isRefused);
  });

  it('is refused after three failures of its buyer within an hour, until one of his payments lands', async () => {
    const payer = hex();
    const isPaid = async () => (await budgets().refusal(by(hex(), payer), hex())) === null;
    const fail = async () => paid({ payer, route: hex() }, 'preparing', 'sending', 'failed');
    await paid({ payer }, 'preparing', 'sending', 'dead');
    for (let n = 0; n < 2; n += 1) await fail();
    expect(await isPaid()).toBe(true);
    await fail();
    expect(await isPaid()).toBe(false);
    await paid({ payer }, 'preparing', 'sending', 'confirmed');
    expect(await isPaid()).toBe(true);
    for (let n = 0; n < 3; n += 1) await fail();
    expect(await isPaid()).toBe(false);
    const hourAgo = sql<Date>`now() - interval '1 hour'`;
    await use.ledger.db
      .updateTable('payment')
      .set({ failedAt: hourAgo })
      .where('payer', '=', payer)
      .where('failedAt', 'is not', null)
      .execute();
    expect(await isPaid()).toBe(true);
  });

  it('is settled on a route whose payments keep failing, if its buyer has a landed payment', async () => {
    const [route, payer] = [hex(), hex()];
    await paid({ payer }, 'preparing', 'sending', 'confirmed');
    await history(route, 10, 10);
    expect(await budgets().refusal(by(hex(), hex()), route)).toContain('keep failing');
    expect(await budgets().refusal(by(hex(), payer), route)).toBeNull();
  });

  it('is not refused because of many failed payments of one buyer, which count once and by the newest', async () => {
    const [route, payer] = [hex(), hex()];
    const isOpen = async () => (await budgets().refusal(by(hex(), hex()), route)) === null;
    await history(route, 6, 0);
    await history(route, 30, 30, payer);
    await history(route, 4, 4);
    // Eleven buyers, five of them with a failed payment.
    expect(await isOpen()).toBe(true);
    await history(route, 1, 1);
    expect(await isOpen()).toBe(false);
    await history(route, 1, 0, payer);
    expect(await isOpen()).toBe(true);
  });
});

describe('a fee payer with a low balance', () => {
  it('has an alert from the second check on, until it is funded', async () => {
    const wallet = hex();
    let lamports = 10n;
    const chain = {
      accounts: async () => ({
        slot: 1n,
        accounts: [{ lamports, owner: '', data: new Uint8Array(), executable: false }],
      }),
    };
    const checkFeePayers = feePayerWatch({
      ledger: use.ledger,
      chain,
      addresses: [wallet],
      lowLamports: 11n,
    });
    const isOpen = async () => {
      await checkFeePayers();
      const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
      return rows.some(({ kind, subject }) => kind === 'fee_payer_low' && subject === wallet);
    };
    expect([await isOpen(), await isOpen()]).toEqual([false, true]);
    lamports = 11n;
    expect(await isOpen()).toBe(false);
  });
});
