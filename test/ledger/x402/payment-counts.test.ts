import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { meterPayments } from '../../../src/platform/metrics.ts';
import { newPayment } from '../new-payment.ts';
import { useLedger } from '../support.ts';

const use = useLedger();

async function stored(state: 'settling' | 'owed' | 'served', paidAt: Date | null = null): Promise<string> {
  const { id } = newPayment();
  await use.ledger.payments.open(newPayment({ id }));
  await use.ledger.db.updateTable('payment').set({ state, paidAt }).where('id', '=', id).execute();
  return id;
}

it('the gauges of x402 count unfinished payments, the age of the oldest owed one, and answers that were never paid', async () => {
  const { alerts, db, paymentCounts } = use.ledger;
  const registry = new Registry();
  const update = meterPayments(registry, () => paymentCounts.read());
  const value = async (series: string) => {
    await update();
    const lines = (await registry.metrics()).split('\n');
    return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length));
  };
  expect(await value('sluice_x402_owed_oldest_seconds')).toBe(0);
  await stored('settling');
  await stored('owed', new Date(Date.now() - 60_000));
  await stored('owed', new Date());
  const unpaid = await stored('served');
  expect(await value('sluice_x402_payments{seller="gateway",state="settling"}')).toBe(1);
  expect(await value('sluice_x402_payments{seller="gateway",state="owed"}')).toBe(2);
  expect(await value('sluice_x402_payments{seller="facilitator",state="owed"}')).toBe(0);
  expect(await value('sluice_x402_owed_oldest_seconds')).toBeGreaterThanOrEqual(60);
  expect(await value('sluice_x402_unpaid_answers')).toBe(0);
  await db.updateTable('settlement').set({ status: 'dead' }).where('id', '=', unpaid).execute();
  await alerts.raise({ kind: 'confirmed_taken_back', subject: unpaid, message: 'removed by a fork' });
  expect(await value('sluice_x402_unpaid_answers')).toBe(1);
});
