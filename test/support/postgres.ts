import { randomBytes } from 'node:crypto';
import { sharedService } from './services.ts';
import { onServer, urlOf } from './template.ts';

/** A database of one test file. Call `drop` in `afterAll`. */
export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
  /** A copy with the same rows, like a restored backup. No session may use this database meanwhile. */
  readonly copy: () => Promise<TestDatabase>;
}

/** A migrated database without rows for one test file: a copy of the template of this run. */
export async function freshDatabase(): Promise<TestDatabase> {
  const [server, template] = await Promise.all([
    sharedService<{ url: string }>('postgres'),
    sharedService<{ name: string }>('template'),
  ]);
  return create(server.url, copyOf(template.name));
}

/** A database without a schema, for tests of the first start. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const { url } = await sharedService<{ url: string }>('postgres');
  return create(url, '');
}

async function create(server: string, template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name} ${template}`);
  return {
    url: urlOf(server, name),
    drop: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    copy: () => create(server, copyOf(name)),
  };
}

/** Copies files: a copy by the log, the default, takes three times the processor time. */
const copyOf = (database: string) => `TEMPLATE ${database} STRATEGY FILE_COPY`;

/** The same database for connections with this statement timeout. */
export function withStatementTimeout(databaseUrl: string, timeoutMs: number): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('statement_timeout', String(timeoutMs));
  return url.href;
}
