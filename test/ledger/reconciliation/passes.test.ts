import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useDepositLedgers } from '../deposit-ledger.ts';

const use = useDepositLedgers();

it('the pass counts few wallets exactly, and many by the statistics of the server', async () => {
  const { ledger } = use;
  const { db } = ledger;
  const watch = (from: number, to: number) =>
    sql`insert into watched_wallet (address, kind, version)
    select lpad(translate(n::text, '0', 'z'), 32, 'w'), 'deposit', 1 from generate_series(${from}::int, ${to}::int) n`.execute(
      db,
    );
  await watch(1, 9);
  expect((await ledger.reconciliations.passes(10)).watched).toBe(9);
  // In parts, each of them shorter than the statement timeout.
  for (let from = 10; from < 110_000; from += 20_000) await watch(from, from + 19_999);
  await sql`analyze watched_wallet`.execute(db);
  expect((await ledger.reconciliations.passes(10)).watched).toBe(120_009);
});
