import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { CamelCasePlugin, Kysely, sql } from 'kysely';
import pg from 'pg';
import { DomainError } from '../domain/errors.ts';
import type { Database, Tables } from './database.ts';
import { SessionlessDialect } from './dialect.ts';

const INT8 = 20;
const NUMERIC = 1700;
const POOL_SIZE = 16;
// A client that vanished inside a transaction must not keep its locks; shorter than the shortest activity that waits for one.
const STATEMENT_TIMEOUT_MS = 8_000;
// A server that goes on answers each statement within its timeout: one that is silent for longer stands still, or cannot be reached.
const SILENCE_AFTER_TIMEOUT_MS = 1_000;

/** In the start-up packet, a pooler such as PgBouncer refuses them. */
const LIMITS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;

/** What a pool does to hold the limits. */
function limitsOf(statementTimeoutMs: number): pg.PoolConfig {
  const longestSilenceMs = statementTimeoutMs + SILENCE_AFTER_TIMEOUT_MS;
  return {
    // The pool closes an idle connection before its silence counts, so a process without queries for that time connects anew.
    idleTimeoutMillis: longestSilenceMs / 2,
    stream: () => impatientSocket(longestSilenceMs),
    verify: (client, done) => callbackify(limitSession)(client, statementTimeoutMs, done),
  };
}

/**
 * Limits single statements. Through a pooler the session is not ours: another process id answers there, nothing is set, and the server's
 * own settings for the role apply.
 */
async function limitSession(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  const processId = 'processID' in client ? client.processID : null;
  const settings = LIMITS.map((name) => `set_config('${name}', '${timeoutMs}', false)`).join();
  await client.query(`select ${settings} where pg_backend_pid() = $1`, [processId]);
}

/** Sets the limits of the transaction that has begun; 0: no limit, whatever the server, the database or the role has for others. */
export function limitTransaction(timeoutMs: number): string {
  return LIMITS.map((name) => `set local ${name} = ${timeoutMs}`).join('; ');
}

/** The connection string without limits, and the limit of a statement that it has. */
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

/** The connection string without limits of time. */
export function withoutLimits(databaseUrl: string): string {
  return splitLimits(databaseUrl).plainUrl;
}

/**
 * A lazy pool of connections; every whole number of the database arrives as bigint. Only migrations are `unlimited`: large tables take
 * them minutes, and the processes that wait for that as well. Each of their transactions waits for the lock of migrations first.
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
  // A connection may break at any time, idle or between two statements of a transaction: the pool drops it, the next statement fails.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const settings = limitTransaction(unlimited ? 0 : statementTimeoutMs);
  return new Kysely<Tables>({
    dialect: new SessionlessDialect({ pool }, { settings, locked: unlimited }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });
}

/** Throws where a commit may be lost by a crash of the server: an attempt must be on disk before it is signed. */
export async function requireDurableCommits(db: Database): Promise<void> {
  const setting = sql<string>`current_setting('synchronous_commit')`.as('setting');
  const { setting: value } = await db.selectNoFrom(setting).executeTakeFirstOrThrow();
  if (value === 'off')
    throw new Error('synchronous_commit is off: set it to on for this role, database or server');
}

/**
 * Breaks the connection after `longestSilenceMs`: what waits for it fails at once, and its place in the pool is free. A timeout
 * of a query alone would leave the next one to wait behind it.
 */
function impatientSocket(longestSilenceMs: number): Socket {
  const socket = new Socket();
  const silent = Object.assign(new Error('PostgreSQL has said nothing for long'), { code: 'ETIMEDOUT' });
  return socket.setTimeout(longestSilenceMs, () => socket.destroy(silent));
}

/**
 * What passes by itself or with room made: connection refused or lost, server starting or stopping (SQLSTATE classes 08 and 57P), no
 * disk, memory or connection left (53), a server that only reads, statements that waited too long or for each other, no free connection
 * in the pool. What was asked for may have been done: a commit may lose its answer alone.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|08...|57P..|53...|57014|25006|40001|40P01)$/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/.test(
      error.message,
    )
  );
}

/** What a caller is told of an error that {@link isDatabaseAway}; null for any other. Who only reads need not look twice. */
export function databaseFault(error: unknown, { reads = false } = {}): DomainError | null {
  if (!isDatabaseAway(error)) return null;
  const away = 'PostgreSQL does not answer: look at its server, and at the way to it';
  const doubt = '. An order may have been done all the same: look before you repeat it';
  return new DomainError('Unavailable', reads ? away : `${away}${doubt}`, {}, error);
}

/** True where `error` is PostgreSQL's refusal of a duplicate under the unique constraint of that name. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}
