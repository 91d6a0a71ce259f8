import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../devkit/localstack/ports.ts';
import { postgresBinaries } from '../../devkit/localstack/postgres-binaries.ts';
import { ManagedProcess } from '../../devkit/localstack/process.ts';

/** The program, or null. Debian installs it outside the PATH of a user other than root. */
export const PGBOUNCER =
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
    .map((dir) => join(dir, 'pgbouncer'))
    .find((path) => existsSync(path)) ?? null;

/** A PgBouncer in transaction mode in front of the server of a database. */
export interface Pooler {
  /** The same database through PgBouncer. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer with its default settings, and a pool of `poolSize` connections to each database. */
export async function startPgBouncer(databaseUrl: string, poolSize = 20): Promise<Pooler> {
  if (PGBOUNCER === null) throw new Error('pgbouncer is not installed');
  const { owner } = postgresBinaries();
  const [server, port] = [new URL(databaseUrl), await freePort()];
  const dir = mkdtempSync(join(tmpdir(), 'sluice-pgbouncer-'));
  const file = join(dir, 'pgbouncer.ini');
  const login = `user=${server.username} password=${decodeURIComponent(server.password)}`;
  const settings = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port} ${login}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
  ];
  writeFileSync(file, `${settings.join('\n')}\n`, { mode: 0o600 });
  if (owner !== null) for (const path of [dir, file]) chownSync(path, owner.uid, owner.gid);
  server.port = String(port);
  const bouncer = new ManagedProcess({
    name: 'pgbouncer',
    command: PGBOUNCER,
    args: [file],
    logFile: join(dir, 'pgbouncer.log'),
    stopSignal: 'SIGINT',
    ready: () => answers(server.href),
    ...owner,
  });
  await bouncer.start();
  const stop = async () => {
    await bouncer.kill();
    rmSync(dir, { recursive: true, force: true });
  };
  return { url: server.href, stop };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
