import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { PAYMENT_STATES, type PaymentState } from '../../../src/domain/payment.ts';
import type { SaleFilter } from '../../../src/ledger/x402/payment-list.ts';
import type { PaymentRow } from '../../../src/ledger/x402/payments.ts';
import type { RevenueKey } from '../../../src/ledger/x402/revenue.ts';
import { newPayment } from '../new-payment.ts';
import { useLedger } from '../support.ts';

const use = useLedger();
const ROUTES = ['GET /a', 'POST /b/:id'];
const PAYERS = ['payer 1', 'payer 2', 'payer 3'];
const ASSETS = ['mint 1', 'mint 2'];
const SELLERS = ['gateway', 'facilitator'] as const;
/** Around midnight of UTC, so that a day in another time zone would differ. Several payments have the same time. */
const TIMES = Array.from({ length: 12 }, (_, hours) => new Date(Date.UTC(2026, 9, 31, 18 + hours)));
const STATUSES = ['sending', 'confirmed', 'finalized', 'dead'] as const;

interface MadePayment {
  readonly row: PaymentRow;
  readonly status: (typeof STATUSES)[number];
}

/** All payments, newest first. */
let made: readonly MadePayment[];

beforeAll(async () => {
  const { ledger } = use;
  const rows: (MadePayment & { readonly at: Date })[] = [];
  for (let i = 0; i < 240; i += 1) {
    const pick = <T>(values: readonly T[], by: number): T => values[(i * by + (i >> 3)) % values.length] as T;
    const { id } = newPayment();
    const asset = pick(ASSETS, 3);
    const { terms } = newPayment();
    const decimals = asset === 'mint 1' ? 6 : 2;
    const input = newPayment({
      id,
      route: pick(ROUTES, 1),
      payer: pick(PAYERS, 1),
      seller: pick(SELLERS, 5),
      terms: { ...terms, asset, decimals, amount: String(1_000 + i) },
    });
    await ledger.payments.open(input);
    const [status, at] = [pick(STATUSES, 1), pick(TIMES, 7)];
    const isFinal = status === 'finalized';
    await ledger.db
      .updateTable('payment')
      .set({
        state: pick(PAYMENT_STATES, 1),
        createdAt: at,
        settledAt: isFinal ? at : null,
        received: isFinal && i % 3 > 0 ? BigInt(1_001 + i) : null,
      })
      .where('id', '=', id)
      .execute();
    await ledger.db.updateTable('settlement').set({ status }).where('id', '=', id).execute();
    rows.push({ row: await ledger.payments.get(id), status, at });
  }
  made = rows.toSorted(
    (one, other) => Number(other.at) - Number(one.at) || (one.row.position < other.row.position ? 1 : -1),
  );
}, 120_000);

function matches(row: PaymentRow, { route, payer, asset, seller, from, to }: SaleFilter): boolean {
  const equal = (wanted: string | undefined, value: string) => wanted === undefined || wanted === value;
  return (
    equal(route, row.route) &&
    equal(payer, row.payer) &&
    equal(asset, row.terms.asset) &&
    equal(seller, row.seller) &&
    (from === undefined || row.createdAt >= from) &&
    (to === undefined || row.createdAt < to)
  );
}

const perhaps = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const saleFilters = fc.record({
  route: perhaps([...ROUTES, 'none']),
  payer: perhaps(PAYERS),
  asset: perhaps(ASSETS),
  seller: perhaps(SELLERS),
  from: perhaps(TIMES),
  to: perhaps(TIMES),
});

it('a list has exactly the payments that pass all filters, newest first, whatever the size of its pages', async () => {
  const check = fc.asyncProperty(
    saleFilters,
    perhaps(PAYMENT_STATES),
    fc.integer({ min: 1, max: 90 }),
    async (filter, state, limit) => {
      const ids: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await use.ledger.payments.list({ ...filter, state, limit, cursor });
        expect(page.rows.length).toBeLessThanOrEqual(limit);
        ids.push(...page.rows.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      const passing = made.filter(({ row }) => matches(row, filter) && (state ?? row.state) === row.state);
      expect(ids).toEqual(passing.map(({ row }) => row.id));
    },
  );
  await fc.assert(check, { numRuns: 60 });
});

const COUNTED: readonly PaymentState[] = ['owed', 'served'];

/** The sums of finalized and of confirmed payments, computed here. */
function expectedRevenue(filter: SaleFilter, by: readonly RevenueKey[]) {
  const sums = new Map<string, ReturnType<typeof emptySums>>();
  for (const { row, status } of made) {
    const which = status === 'finalized' || status === 'confirmed' ? status : null;
    if (which === null || !COUNTED.includes(row.state) || !matches(row, filter)) continue;
    const day = by.includes('day') ? row.createdAt.toISOString().slice(0, 10) : null;
    const route = by.includes('route') ? row.route : null;
    const { asset, decimals, amount } = row.terms;
    const key = JSON.stringify([day, route, asset]);
    const all = sums.get(key) ?? emptySums({ day, route, asset, decimals });
    all[which] = {
      payments: all[which].payments + 1,
      units: all[which].units + (row.received ?? BigInt(amount)),
    };
    sums.set(key, all);
  }
  return [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, all]) => all);
}

function emptySums(key: { day: string | null; route: string | null; asset: string; decimals: number }) {
  return { ...key, finalized: { payments: 0, units: 0n }, confirmed: { payments: 0, units: 0n } };
}

it('the revenue is the sum of what finalized and confirmed sales received, without refunds, for each key', async () => {
  const keys = fc.subarray<RevenueKey>(['route', 'day']);
  const check = fc.asyncProperty(saleFilters, keys, async (filter, by) => {
    const { from = new Date(0), to = new Date(Date.UTC(2027, 0)) } = filter;
    const period = { ...filter, from, to };
    expect(await use.ledger.payments.revenue({ ...period, by })).toEqual(expectedRevenue(period, by));
  });
  await fc.assert(check, { numRuns: 60 });
});
