import pg from 'pg';
import Cursor from 'pg-cursor';
import { limitTransaction, withoutLimits } from './connection.ts';

const ROWS_AT_ONCE = 10_000;

/** Streams one query in batches; a row is an array of its columns. Its connection has no time limits. */
export async function* readInOneQuery<Row extends readonly unknown[]>(
  databaseUrl: string,
  query: string,
): AsyncGenerator<readonly Row[]> {
  const client = new pg.Client({
    connectionString: withoutLimits(databaseUrl),
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // A broken connection rejects the pending read, or else the next one.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // One transaction, which a pooler keeps on one connection. It ends with the connection.
    await client.query(`begin; ${limitTransaction(0)}`);
    const cursor = client.query(new Cursor<Row>(query, [], { rowMode: 'array' }));
    for (;;) {
      const rows = await cursor.read(ROWS_AT_ONCE);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    await client.end();
  }
}
