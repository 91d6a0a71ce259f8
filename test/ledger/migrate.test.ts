import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';

/** The advisory lock that the migrator holds. */
const MIGRATOR = '3853314791062309107';
const LONGER_THAN_ANY_STATEMENT_MS = 10_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

it('a migration may take longer than any statement, for those that wait for it, too', async () => {
  const migrating = new pg.Client({ connectionString: database.url });
  await migrating.connect();
  await migrating.query(`select pg_advisory_lock(${MIGRATOR})`);
  const opened = openLedger(database.url);
  const ended = new Promise((resolve) => setTimeout(resolve, LONGER_THAN_ANY_STATEMENT_MS)).then(() =>
    migrating.end(),
  );
  const [ledger] = await Promise.all([opened, ended]);
  expect(await ledger.scan.cursor()).toBeNull();
  await ledger.close();
}, 60_000);
