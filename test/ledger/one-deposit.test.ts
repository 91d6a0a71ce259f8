import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { appendEvents, lockFeed } from '../../src/ledger/deposit-feed.ts';
import { addDeposits } from '../../src/ledger/deposit-writing.ts';
import { oneDeposit } from '../../src/ledger/migrations/0025-one-deposit.ts';
import { address, inflow } from './chain-of-blocks.ts';
import { confirmAll, imported, useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();
const ANN = address('ann');

it('the migration makes one of what was announced and finalized apart, and no event is lost', async () => {
  const { db, deposits, depositFeed } = use.ledger;
  await imported(use.ledger, ANN);
  await sql`alter table deposit drop constraint deposit_key`.execute(db);
  await sql`alter table deposit add constraint deposit_key unique (signature, slot, blockhash, account, asset)`.execute(
    db,
  );
  await sql`create unique index deposit_finalized_once on deposit (signature, slot, account, asset)
    where finalized_at is not null`.execute(db);
  await sql`drop index deposit_by_asset`.execute(db);
  const at = (slot: bigint, blockhash: string) => ({ ...inflow(ANN), slot, blockhash, time: null });
  await db.transaction().execute(async (trx) => {
    const feed = await lockFeed(trx);
    const announced = [at(101n, 'x'), at(101n, 'y'), at(102n, 'x'), at(102n, 'y')];
    await appendEvents(feed, await addDeposits(feed, announced, { finalized: false }));
    await appendEvents(feed, await addDeposits(feed, [at(101n, 'b101')]));
  });
  await oneDeposit.up(db as unknown as Kysely<unknown>);
  await confirmAll(use.ledger);
  const { rows } = await deposits.list({ limit: 10 });
  expect(rows.map(({ slot, blockhash, state }) => [slot, blockhash, state])).toEqual([
    [101n, 'b101', 'final'],
    [102n, 'x', 'pending'],
  ]);
  const { events } = await depositFeed.events(0n, 10);
  expect(events.map(({ kind, deposit }) => `${deposit.slot} ${kind}`)).toEqual([
    '101 pending',
    '101 pending',
    '102 pending',
    '102 pending',
    '101 pending',
    '101 final',
  ]);
});
