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

/** A database of one test file. Call `drop` in `afterAll`. */
export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
  /** Another one with all that this one holds, as a restored backup is; nobody may be connected to this one meanwhile. */
  readonly copy: () => Promise<TestDatabase>;
}

/** An empty database of its own for one test file, on the PostgreSQL that all share. */
export async function freshDatabase(): Promise<TestDatabase> {
  const { url: shared } = await sharedService<{ url: string }>('postgres');
  return create(shared, '');
}

async function create(shared: string, template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await run(shared, `CREATE DATABASE ${name} ${template}`);
  const url = new URL(shared);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => run(shared, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    copy: () => create(shared, `TEMPLATE ${name}`),
  };
}
