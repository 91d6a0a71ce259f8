import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../src/ledger/connection.ts';
import type { Database } from '../../src/ledger/database.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { lockWaits } from './deposit-ledger.ts';

/** The advisory lock that the migrator holds. */
const MIGRATOR = '3853314791062309107';
const LONGER_THAN_ANY_STATEMENT_MS = 10_000;

/** Takes the record back to what an older build has left. */
const OLDER = `
  drop index deposit_address_due_since;
  alter table deposit_address drop column imported_after;
  alter table rescan drop column unread;
  delete from kysely_migration where name >= '0033'`;

const HOLD_ADDRESSES = 'select from deposit_address for update';
const CHANGE_ADDRESS = `update deposit_address set state = 'used' where false`;
const CHANGE_RESCAN = 'update rescan set trouble = null';

let database: TestDatabase;
let looking: Database;
let older: pg.Client;
beforeAll(async () => {
  database = await freshDatabase();
  looking = connect(database.url);
  older = new pg.Client({ connectionString: database.url });
  await older.connect();
});
afterAll(async () => {
  await older.end();
  await looking.destroy();
  await database.drop();
});

it('a migration may take longer than any statement, for those that wait for it, too', async () => {
  await older.query(`select pg_advisory_lock(${MIGRATOR})`);
  const opened = openLedger(database.url);
  await new Promise((resolve) => setTimeout(resolve, LONGER_THAN_ANY_STATEMENT_MS));
  await older.query(`select pg_advisory_unlock(${MIGRATOR})`);
  const ledger = await opened;
  expect(await ledger.scan.cursor()).toBeNull();
  await ledger.close();
}, 60_000);

it.each([
  ['holds addresses and changes one', HOLD_ADDRESSES, CHANGE_ADDRESS],
  ['holds addresses and changes a rescan', HOLD_ADDRESSES, CHANGE_RESCAN],
  ['holds a rescan and changes an address', CHANGE_RESCAN, CHANGE_ADDRESS],
])(
  'an older process that %s, and migrations beside it, wait for each other and do not fail',
  async (_what, first, next) => {
    await migrate(database.url);
    await older.query(OLDER);
    await older.query('begin');
    await older.query(first);
    const migrating = migrate(database.url);
    await Promise.race([lockWaits(looking), migrating]);
    try {
      await older.query(next);
    } finally {
      await older.query('rollback');
      await migrating;
    }
  },
);

it('processes that start at once migrate in turns, whatever their clocks say', async () => {
  const both = await freshDatabase();
  await Promise.all([migrate(both.url), migrate(both.url)]);
  const later = new pg.Client({ connectionString: both.url });
  await later.connect();
  await later.query(
    `update kysely_migration set timestamp = '2000-01-01T00:00:00.000Z' where name >= '0034'`,
  );
  await later.end();
  await migrate(both.url);
  await both.drop();
});
