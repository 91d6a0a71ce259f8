import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../devkit/localstack/postgres.ts';
import { connect, isDatabaseUnavailable } from '../../src/ledger/connection.ts';
import { pausePostgres } from '../support/paused-postgres.ts';
import { withStatementTimeout } from '../support/postgres.ts';

vi.setConfig({ testTimeout: 120_000 });
let postgres: LocalPostgres;
/** For connections that drop a silent server after 3 s. */
let briefUrl: string;
beforeAll(async () => {
  postgres = await startPostgres({ logDir: mkdtempSync(join(tmpdir(), 'sluice-logs-')), env: {} });
  briefUrl = withStatementTimeout(postgres.url, 2_000);
});
afterAll(() => postgres.stop());

it('a stopped database fails the statements that wait and that follow, and answers again once it continues', async () => {
  const db = connect(briefUrl);
  await sql`select 1`.execute(db);
  const resume = pausePostgres(postgres);
  // The first statement uses the open connection.
  const asked = await Promise.allSettled([1, 2, 3].map(() => sql`select 1`.execute(db)));
  resume();
  for (const ended of asked) expect(ended).toSatisfy(failedAsAway);
  await sql`select 1`.execute(db);
  await db.destroy();
});

it('the server ends a statement that takes too long, inside a transaction and outside', async () => {
  const db = connect(withStatementTimeout(postgres.url, 300));
  const slow = sql`select pg_sleep(60)`;
  await expect(slow.execute(db)).rejects.toMatchObject({ code: '57014' });
  await expect(db.transaction().execute((trx) => slow.execute(trx))).rejects.toMatchObject({ code: '57014' });
  await db.destroy();
});

it('a commit whose answer is lost in a stopped database has an unknown outcome, and is done once the database continues', async () => {
  const db = connect(briefUrl);
  await sql`create table kept (x int)`.execute(db);
  let resume = (): void => undefined;
  const order = db.transaction().execute(async (trx) => {
    // Otherwise the server may end the silent session before it reads on: then the commit is not done, and the caller cannot know that either.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
    await sql`insert into kept values (1)`.execute(trx);
    resume = pausePostgres(postgres);
  });
  await expect(order).rejects.toSatisfy(isDatabaseUnavailable);
  resume();
  await vi.waitFor(async () => {
    const { rows } = await sql<{ x: number }>`select x from kept`.execute(db);
    expect(rows).toEqual([{ x: 1 }]);
  }, 10_000);
  await db.destroy();
});

it('a request that waits too long for a free connection fails with a retryable error', async () => {
  const db = connect(postgres.url);
  const busy = Promise.allSettled(Array.from({ length: 32 }, () => sql`select pg_sleep(5.5)`.execute(db)));
  await expect(sql`select 1`.execute(db)).rejects.toSatisfy(isDatabaseUnavailable);
  await busy;
  await db.destroy();
});

function failedAsAway(ended: PromiseSettledResult<unknown>): boolean {
  return ended.status === 'rejected' && isDatabaseUnavailable(ended.reason);
}
