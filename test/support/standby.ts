import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, vi } from 'vitest';
import { freePort } from '../../devkit/localstack/ports.ts';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import { postgresBinaries } from '../../devkit/localstack/postgres-binaries.ts';
import { ManagedProcess } from '../../devkit/localstack/process.ts';

/** A PostgreSQL server with a streaming standby, behind one address. */
export interface ReplicatedPostgres {
  /** Leads to the primary, and after {@link failOver} to the standby. */
  readonly url: string;
  /** The standby gets no further commits, and the primary does not wait for it. */
  cutReplication(): Promise<void>;
  /** Kills the primary and promotes the standby. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both servers. Each commit waits until the standby has it: `synchronous_commit` is on. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-standby-logs-'));
  const primary = await startPostgres({ logDir, env: {} });
  const { process: server } = primary;
  if (server === null) throw new Error('the primary is a process of its own');
  const primaryPort = Number(new URL(primary.url).port);
  const [clients, replication] = await Promise.all([
    Forwarder.open(primaryPort),
    Forwarder.open(primaryPort),
  ]);
  const standby = await startStandby(primary.url, replication.port, logDir);
  await query(primary.url, "alter system set synchronous_standby_names = '*'");
  await query(primary.url, 'select pg_reload_conf()');
  await vi.waitFor(async () => {
    const [row] = await query(primary.url, 'select sync_state from pg_stat_replication');
    expect(row).toEqual({ sync_state: 'sync' });
  }, 30_000);
  return {
    url: withPort(primary.url, clients.port),
    cutReplication: async () => {
      replication.close();
      await query(primary.url, 'alter system reset synchronous_standby_names');
      await query(primary.url, 'select pg_reload_conf()');
    },
    failOver: async () => {
      await server.kill('SIGKILL');
      await query(standby.url, 'select pg_promote()');
      clients.forwardTo(Number(new URL(standby.url).port));
    },
    stop: async () => {
      clients.close();
      replication.close();
      await standby.stop();
      await primary.stop();
      rmSync(logDir, { recursive: true, force: true });
    },
  };
}

/** A copy of the running primary that follows it over `replicationPort`. */
async function startStandby(primaryUrl: string, replicationPort: number, logDir: string) {
  const binaries = postgresBinaries();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-standby-'));
  const dataDir = join(dir, 'data');
  const backup = new pg.Client({ connectionString: primaryUrl });
  await backup.connect();
  try {
    const { rows: found } = await backup.query<{ data_directory: string }>('show data_directory');
    await backup.query("select pg_backup_start('standby', true)");
    // Files that end meanwhile are not part of the backup.
    execFileSync('cp', ['-a', found[0]?.data_directory ?? '', dataDir]);
    const { rows } = await backup.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
    writeFileSync(join(dataDir, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await backup.end();
  }
  for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(dataDir, name), { force: true });
  writeFileSync(join(dataDir, 'standby.signal'), '');
  const { username, password } = new URL(primaryUrl);
  const source = `host=127.0.0.1 port=${replicationPort} user=${username} password=${password}`;
  writeFileSync(join(dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  const { owner } = binaries;
  if (owner !== null)
    for (const path of [
      dir,
      ...['backup_label', 'standby.signal', 'postgresql.auto.conf'].map((name) => join(dataDir, name)),
    ])
      chownSync(path, owner.uid, owner.gid);
  const port = await freePort();
  const url = withPort(primaryUrl, port);
  const server = new ManagedProcess({
    name: 'standby',
    command: binaries.postgres,
    args: ['-D', dataDir, '-p', String(port), ...SETTINGS.flatMap((setting) => ['-c', setting])],
    logFile: join(logDir, 'standby.log'),
    stopSignal: 'SIGINT',
    ready: () =>
      query(url, 'select 1').then(
        () => true,
        () => false,
      ),
    ...owner,
  });
  await server.start();
  const stop = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { url, stop };
}

/** Those of the primary; see `startPostgres`. */
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'fsync=off',
  'full_page_writes=off',
];

/** Forwards TCP connections to a port of this machine. */
class Forwarder {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => {
      const server = connect(this.#target, '127.0.0.1');
      for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
        this.#sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
  }

  static async open(target: number): Promise<Forwarder> {
    const forwarder = new Forwarder(target);
    await new Promise<void>((resolve) => forwarder.#server.listen(0, '127.0.0.1', resolve));
    return forwarder;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Cuts all connections; later ones lead to `target`. */
  forwardTo(target: number): void {
    this.#target = target;
    this.#cut();
  }

  close(): void {
    this.#server.close();
    this.#cut();
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

async function query(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
