import { describe, expect, it } from 'vitest';
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

/** Payments of a route, of which so many have failed on chain: each of another buyer, or all of `payer`. */
async function history(route: string, all: number, failed: number, payer?: string): Promise<void> {
  for (let n = 0; n < all; n += 1) {
    const payment = newPayment({ route, payer: payer ?? hex() });
    await use.ledger.payments.open(payment);
    const settled = { status: n < failed ? ('failed' as const) : ('finalized' as const) };
    await use.ledger.db.updateTable('settlement').set(settled).where('id', '=', payment.id).execute();
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
    expect(await budgets(0n, 0n).refusal(by(payer, payer), 'r')).toBeNull();
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
