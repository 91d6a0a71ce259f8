import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ledgerTables } from '../../scripts/ledger-tables.ts';
import { connect } from '../../src/ledger/connection.ts';
import type { Database } from '../../src/ledger/database.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { isMigrated, MIGRATIONS, migrate } from '../../src/ledger/migrate.ts';
import { migrationOf } from '../../src/ledger/migration-of.ts';
import {
  emptyDatabase,
  freshDatabase,
  type TestDatabase,
  withStatementTimeout,
} from '../support/postgres.ts';
import { waitForLockWaits } from './deposit-ledger.ts';

/** The advisory lock that the migrator holds. */
const MIGRATOR = '3853314791062309107';
const STATEMENT_TIMEOUT_MS = 1_000;
/** Longer than the timeout of a silent pool connection. */
const LONGER_THAN_ANY_STATEMENT_MS = STATEMENT_TIMEOUT_MS + 2_000;

/** Migrations of a later release: each changes one table. */
const LATER = {
  ...MIGRATIONS,
  '9001-index': migrationOf([sql`create index later_index on deposit_address (since)`]),
  '9002-backfill': migrationOf([sql`alter table backfill add column later text`]),
  '9003-address': migrationOf([
    sql`alter table deposit_address add column later bigint`,
    sql`update deposit_address set later = (select slot from scan_cursor) where audit_due`,
  ]),
};

const HOLD_ADDRESSES = 'select from deposit_address for update';
const CHANGE_ADDRESS = `update deposit_address set state = 'used' where false`;
const CHANGE_BACKFILL = 'update backfill set trouble = null';

it('a migration may take longer than the statement timeout, and the processes that wait for it may, too', async () => {
  const { url, drop } = await emptyDatabase();
  const older = await session(url);
  await older.query(`select pg_advisory_lock(${MIGRATOR})`);
  const opened = openLedger(withStatementTimeout(url, STATEMENT_TIMEOUT_MS));
  await new Promise((resolve) => setTimeout(resolve, LONGER_THAN_ANY_STATEMENT_MS));
  await older.query(`select pg_advisory_unlock(${MIGRATOR})`);
  const ledger = await opened;
  expect(await ledger.scan.cursor()).toBeNull();
  await ledger.close();
  await older.end();
  await drop();
});

describe('migrations of a later release', () => {
  let database: TestDatabase;
  let looking: Database;
  let older: pg.Client;
  beforeEach(async () => {
    database = await freshDatabase();
    looking = connect(database.url);
    older = await session(database.url);
    return async () => {
      await older.end();
      await looking.destroy();
      await database.drop();
    };
  });

  it.each([
    ['holds addresses and changes one', HOLD_ADDRESSES, CHANGE_ADDRESS],
    ['holds addresses and changes a backfill', HOLD_ADDRESSES, CHANGE_BACKFILL],
    ['holds a backfill and changes an address', CHANGE_BACKFILL, CHANGE_ADDRESS],
  ])('and an older process that %s wait for each other and do not fail', async (_what, first, next) => {
    await older.query('begin');
    await older.query(first);
    const migrating = migrate(database.url, LATER);
    await Promise.race([waitForLockWaits(looking), migrating]);
    try {
      await older.query(next);
    } finally {
      await older.query('rollback');
      await migrating;
    }
    expect(await isMigrated(looking, LATER)).toBe(true);
  });

  it('are refused by a process of an older release, which names the unknown migration', async () => {
    await migrate(database.url, LATER);
    await expect(openLedger(database.url)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('9001-index'),
    });
  });
});

describe('on an empty database', () => {
  let both: TestDatabase;
  beforeAll(async () => {
    both = await emptyDatabase();
  });
  afterAll(() => both.drop());

  it('processes that start at once migrate in turns, whatever their clocks show', async () => {
    await Promise.all([migrate(both.url), migrate(both.url)]);
    const later = await session(both.url);
    await later.query(
      `update kysely_migration set timestamp = '2000-01-01T00:00:00.000Z' where name >= '0010'`,
    );
    await later.end();
    await migrate(both.url, LATER);
  });
});

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

it('the generated table types are those of the migrated schema', async () => {
  const { url, drop } = await freshDatabase();
  const database = await session(url);
  await expect(await ledgerTables(database)).toMatchFileSnapshot('../../src/ledger/tables.ts');
  await database.end();
  await drop();
});

it('the ledger refuses a database whose server may lose committed data', async () => {
  const { url, drop } = await freshDatabase();
  const db = connect(url);
  await sql`alter database ${sql.id(new URL(url).pathname.slice(1))} set synchronous_commit = off`.execute(
    db,
  );
  await db.destroy();
  await expect(openLedger(url)).rejects.toThrow('synchronous_commit is off');
  await drop();
});
