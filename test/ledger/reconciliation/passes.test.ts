import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { endPass } from '../../../src/ledger/reconciliation/passes.ts';
import { useDepositLedgers } from '../deposit-ledger.ts';

const use = useDepositLedgers();

it('shows one moment: a pass that ends while it is read is the open one or the last one', async () => {
  const { ledger, other } = use;
  await ledger.reconciliations.begin();
  const reading = await other.db.transaction().execute(async (trx) => {
    await sql`lock table reconciliation in access exclusive mode`.execute(trx);
    const view = ledger.reconciliations.passes(10);
    await vi.waitFor(async () => expect(await waitForTheTable()).toBe(1n), { timeout: 60_000 });
    await endPass(trx);
    return { view };
  });
  expect(await reading.view).toMatchObject({ last: null, open: { begunAt: expect.any(Date) } });
  const after = await ledger.reconciliations.passes(10);
  expect(after).toMatchObject({ last: { endedAt: expect.any(Date) }, open: null });
});

it('counts few wallets as they are, and many as the server last counted them', async () => {
  const { ledger } = use;
  const { db } = ledger;
  const watch = (from: number, to: number) =>
    sql`insert into watched_wallet (address, kind, version)
    select lpad(translate(n::text, '0', 'z'), 32, 'w'), 'deposit', 1 from generate_series(${from}::int, ${to}::int) n`.execute(
      db,
    );
  await watch(1, 9);
  expect((await ledger.reconciliations.passes(10)).watched).toBe(9);
  // In parts, each of them done long before the time of a statement is over.
  for (let from = 10; from < 110_000; from += 20_000) await watch(from, from + 19_999);
  await sql`analyze watched_wallet`.execute(db);
  expect((await ledger.reconciliations.passes(10)).watched).toBe(120_009);
});

async function waitForTheTable(): Promise<bigint> {
  const { rows } = await sql<{ n: bigint }>`select count(*) as n from pg_locks
    where relation = 'reconciliation'::regclass and not granted`.execute(use.other.db);
  return rows[0]?.n ?? 0n;
}
