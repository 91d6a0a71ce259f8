import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { CamelCasePlugin, Kysely, sql } from 'kysely';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { DomainError } from '../domain/errors.ts';
import type { Database, Tables } from './database.ts';
import { SessionlessDialect } from './dialect.ts';

const INT8 = 20;
const NUMERIC = 1700;
const POOL_SIZE = 16;
// Ends the locks of a client that disappeared. Shorter than the shortest activity that waits for one.
const STATEMENT_TIMEOUT_MS = 8_000;
// A running server answers or cancels each statement within its timeout. After that it hangs or is unreachable.
const SILENCE_AFTER_TIMEOUT_MS = 1_000;

/** Set after the connection: a pooler such as PgBouncer refuses them in the start-up packet. */
const LIMITS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;

function limitsOf(statementTimeoutMs: number): pg.PoolConfig {
  const longestSilenceMs = statementTimeoutMs + SILENCE_AFTER_TIMEOUT_MS;
  return {
    // Below the socket timeout, so that the pool closes an idle connection before its socket times out.
    idleTimeoutMillis: longestSilenceMs / 2,
    stream: () => impatientSocket(longestSilenceMs),
    verify: (client, done) => callbackify(limitSession)(client, statementTimeoutMs, done),
  };
}

/** Through a pooler the session is shared: the process id differs, nothing is set, the role's settings apply. */
async function limitSession(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  const processId = 'processID' in client ? client.processID : null;
  const settings = LIMITS.map((name) => `set_config('${name}', '${timeoutMs}', false)`).join();
  await client.query(`select ${settings} where pg_backend_pid() = $1`, [processId]);
}

/** SQL that limits the current transaction; 0 overrides any limit of the server, database or role. */
function limitTransaction(timeoutMs: number): string {
  return LIMITS.map((name) => `set local ${name} = ${timeoutMs}`).join('; ');
}

/** The connection string without its limits, and its statement timeout in milliseconds or the default. */
function splitLimits(databaseUrl: string): {
  readonly plainUrl: string;
  readonly statementTimeoutMs: number;
} {
  if (!URL.canParse(databaseUrl)) return { plainUrl: databaseUrl, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const url = new URL(databaseUrl);
  const statementTimeoutMs = Number(url.searchParams.get('statement_timeout')) || STATEMENT_TIMEOUT_MS;
  const isPlain = !LIMITS.some((limit) => url.searchParams.has(limit));
  for (const limit of LIMITS) url.searchParams.delete(limit);
  return { plainUrl: isPlain ? databaseUrl : url.href, statementTimeoutMs };
}

/**
 * A lazy pool; int8 and numeric are parsed as bigint. Only migrations are `unlimited`: they take minutes on large
 * tables, and other processes wait for them. Each of their transactions first takes the migration lock.
 */
export function connect(databaseUrl: string, { unlimited = false } = {}): Database {
  const { plainUrl, statementTimeoutMs } = splitLimits(databaseUrl);
  const pool = new pg.Pool({
    connectionString: plainUrl,
    max: POOL_SIZE,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    ...(unlimited ? {} : limitsOf(statementTimeoutMs)),
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 || oid === NUMERIC ? BigInt : pg.types.getTypeParser(oid, format),
    },
  });
  // A connection may break at any time: the pool drops it, and its next statement fails.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const settings = limitTransaction(unlimited ? 0 : statementTimeoutMs);
  return new Kysely<Tables>({
    dialect: new SessionlessDialect({ pool }, { settings, locked: unlimited }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });
}

/** Throws if `synchronous_commit` is off: an attempt must be on disk before it is signed. */
export async function requireDurableCommits(db: Database): Promise<void> {
  const setting = sql<string>`current_setting('synchronous_commit')`.as('setting');
  const { setting: value } = await db.selectNoFrom(setting).executeTakeFirstOrThrow();
  if (value === 'off')
    throw new Error('synchronous_commit is off: set it to on for this role, database or server');
}

/**
 * Closes a connection after `longestSilenceMs` without data, which frees its place in the pool. After a mere query
 * timeout, the next query would wait behind the first.
 */
function impatientSocket(longestSilenceMs: number): Socket {
  const socket = new Socket();
  const silent = Object.assign(
    new Error('PostgreSQL sent nothing on this connection before the time limit'),
    { code: 'ETIMEDOUT' },
  );
  return socket.setTimeout(longestSilenceMs, () => socket.destroy(silent));
}

/**
 * True for errors that pass. SQLSTATE classes: 08 connection, 57P server starting or stopping, 53 no disk, memory or
 * connections. Others: read-only server, timeout, deadlock, exhausted pool. The statement may have been executed: a
 * commit can succeed although its answer is lost.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|08...|57P..|53...|57014|25006|40001|40P01)$/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/.test(
      error.message,
    )
  );
}

/** The error for one that {@link isDatabaseUnavailable}, else null. Reads need no advice to check before a repeat. */
export function databaseFault(error: unknown, { reads = false } = {}): DomainError | null {
  if (!isDatabaseUnavailable(error)) return null;
  const away = 'PostgreSQL does not answer: check its server and the network';
  const unknown = '. The request may still have been executed: check its result before you repeat it';
  return new DomainError('Unavailable', reads ? away : `${away}${unknown}`, {}, error);
}

/** True if `error` violates the unique constraint of that name. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}

const ROWS_AT_ONCE = 10_000;

/** Streams one query in batches; a row is an array of its columns. Its connection has no time limits. */
export async function* streamQuery<Row extends readonly unknown[]>(
  databaseUrl: string,
  query: string,
): AsyncGenerator<readonly Row[]> {
  const client = new pg.Client({
    connectionString: splitLimits(databaseUrl).plainUrl,
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
