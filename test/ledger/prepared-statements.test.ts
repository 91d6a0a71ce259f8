import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { connect, isDatabaseUnavailable } from '../../src/ledger/connection.ts';
import type { Database } from '../../src/ledger/database.ts';
import { useLedger } from './support.ts';

const use = useLedger();

/** Statements that this connection has prepared, without those of the test. */
async function preparedTexts(db: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ statement: string }>`
    select statement from pg_prepared_statements where statement not like '%pg_prepared_statements%'`.execute(
    db,
  );
  return rows.map(({ statement }) => statement);
}

it('a repeated statement is prepared, and continues after a migration has changed its columns', async () => {
  const db = connect(use.url);
  try {
    await db.connection().execute(async (one) => {
      const read = () => sql`select * from example where id = ${1}`.execute(one);
      await sql`create table example (id integer)`.execute(one);
      for (let n = 0; n < 6; n += 1) await sql.raw(`select ${n}`).execute(one);
      for (let n = 0; n < 5; n += 1) await read();
      expect(await preparedTexts(one)).toEqual(['select * from example where id = $1']);
      await sql`alter table example add column name text`.execute(one);
      await expect(read()).rejects.toSatisfy(isDatabaseUnavailable);
      await read();
    });
  } finally {
    await db.destroy();
  }
});
