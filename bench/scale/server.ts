import pg from 'pg';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { benchEnvironment } from '../settings.ts';
import { fill } from './rows.ts';

/** For a load of millions of rows: they are read from memory where it is large enough, and the log of changes is short. */
const SETTINGS = {
  shared_buffers: '2GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '16GB',
  checkpoint_timeout: '1h',
};

export interface ScaleServer {
  /** A filled database of so many rows; one that an earlier run has kept is used again. */
  readonly databaseOf: (rows: number, say: (line: string) => void) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** A PostgreSQL for this run; `keptAt`: that of this URL, whose databases stay. */
export async function openServer(keptAt: string | undefined): Promise<ScaleServer> {
  const server =
    keptAt === undefined
      ? await startPostgres({ env: benchEnvironment() })
      : { url: keptAt, process: null, stop: async () => undefined };
  if (server.process !== null) {
    for (const [name, value] of Object.entries(SETTINGS))
      await onServer(server.url, `alter system set ${name} = '${value}'`);
    await server.process.stop();
    await server.process.start();
  }
  return { databaseOf: (rows, say) => databaseOf(server.url, rows, say), stop: () => server.stop() };
}

async function databaseOf(server: string, rows: number, say: (line: string) => void): Promise<string> {
  const name = `scale_${rows}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  const [known] = await onServer(server, `select from pg_database where datname = '${name}'`);
  if (known !== undefined) return url.href;
  const begun = performance.now();
  const building = new URL(url);
  building.pathname = `/${name}_building`;
  await onServer(server, `drop database if exists ${name}_building`);
  await onServer(server, `create database ${name}_building`);
  await migrate(building.href);
  await withClient(building.href, (client) => fill(client, rows, say));
  await onServer(server, `alter database ${name}_building rename to ${name}`);
  say(`${rows} rows a table: made in ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  return url.href;
}

function onServer(url: string, statement: string): Promise<readonly object[]> {
  return withClient(url, async (client) => (await client.query<object>(statement)).rows);
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
