import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { isDatabaseUnavailable } from '../../src/ledger/connection.ts';
import { useLedger } from './support.ts';

const use = useLedger();

it('a connection that breaks between two statements of a transaction fails the transaction, and ends no process', async () => {
  const { db } = use.ledger;
  const work = db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(db);
    await sleep(200);
    await sql`select 1`.execute(trx);
  });
  await expect(work).rejects.toSatisfy(isDatabaseUnavailable);
  await use.ledger.ping();
});
