import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { connect } from '../../src/ledger/connection.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { isMigrated, MIGRATIONS, migrate } from '../../src/ledger/migrate.ts';
import { PGBOUNCER, type Pooler, startPgBouncer } from '../support/pgbouncer.ts';
import { emptyDatabase, type TestDatabase, withStatementTimeout } from '../support/postgres.ts';
import { testStack } from '../support/stack.ts';
import { solTerms } from './outcomes-support.ts';

const SKIPPED = PGBOUNCER === null ? ' (skipped: pgbouncer is not installed; apt-get install pgbouncer)' : '';

describe.skipIf(PGBOUNCER === null)(`through PgBouncer in transaction mode${SKIPPED}`, () => {
  let database: TestDatabase;
  let pooler: Pooler;
  beforeAll(async () => {
    database = await emptyDatabase();
    pooler = await startPgBouncer(database.url);
  });
  afterAll(async () => {
    await pooler?.stop();
    await database?.drop();
  });

  it('processes that start at once migrate one after the other, and a failed migration leaves no lock', async () => {
    const direct = connect(database.url);
    await Promise.all([migrate(pooler.url), migrate(pooler.url), migrate(pooler.url)]);
    expect(await isMigrated(direct)).toBe(true);
    const fails = { up: () => Promise.reject(new Error('this migration fails')) };
    await expect(migrate(pooler.url, { ...MIGRATIONS, '9001-fails': fails })).rejects.toThrow(
      'this migration fails',
    );
    const { rows } = await sql`select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`.execute(direct);
    expect(rows).toEqual([]);
    await direct.destroy();
  });

  it('a transaction has its own limits, and leaves none to the next transaction on its connection', async () => {
    const limit = sql<{ limit: string }>`select current_setting('statement_timeout') as limit`;
    const brief = connect(withStatementTimeout(pooler.url, 500));
    const slow = brief.transaction().execute(async (trx) => {
      expect((await limit.execute(trx)).rows).toEqual([{ limit: '500ms' }]);
      await sql`select pg_sleep(60)`.execute(trx);
    });
    await expect(slow).rejects.toMatchObject({ code: '57014' });
    for (let turn = 0; turn < 5; turn += 1)
      expect((await limit.execute(brief)).rows).toEqual([{ limit: '0' }]);
    await brief.destroy();
  });

  it('one query reads all watched wallets', async () => {
    const ledger = await openLedger(pooler.url);
    const entries = Array.from({ length: 3 }, newAddress).map((address) => ({
      address,
      path: `m/${address}`,
    }));
    await ledger.addresses.import(entries);
    const read: string[] = [];
    for await (const address of ledger.watched.stream()) read.push(address);
    expect(read.toSorted()).toEqual(entries.map(({ address }) => address).toSorted());
    await ledger.close();
  });

  it('workers, signer and API pay a withdrawal', async () => {
    const running = await testStack(undefined, { DATABASE_URL: pooler.url });
    try {
      const terms = solTerms('through-a-pooler');
      const { stack, sluice } = running;
      await sluice.withdraw(terms);
      expect(await sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized' });
      expect(stack.databaseUrl).toBe(pooler.url);
    } finally {
      await running.close();
    }
  });
});
