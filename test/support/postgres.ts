import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { sharedService } from './services.ts';

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** An empty database of its own for one test file, on the PostgreSQL that all share. Call `drop` in `afterAll`. */
export async function freshDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const { url: shared } = await sharedService<{ url: string }>('postgres');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await run(shared, `CREATE DATABASE ${name}`);
  const url = new URL(shared);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => run(shared, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}
