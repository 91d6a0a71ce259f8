import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { migrate } from '../../src/ledger/migrate.ts';

/** A migrated database that other databases are copied from. */
export interface TemplateDatabase {
  readonly name: string;
  readonly drop: () => Promise<void>;
}

/**
 * Creates a migrated database on the server of `url`, and closes it for connections. CREATE DATABASE fails if a session uses its template:
 * this template accepts no session.
 */
export async function createTemplate(url: string): Promise<TemplateDatabase> {
  const name = `template_${randomBytes(8).toString('hex')}`;
  await onServer(url, `CREATE DATABASE ${name}`);
  await migrate(urlOf(url, name));
  await onServer(url, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
  // The sessions of the migrator end on the server some time after their connections close.
  await onServer(
    url,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
  return { name, drop: () => onServer(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** The URL of another database of the same server. */
export function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Executes one statement on the server of `url`. */
export async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
