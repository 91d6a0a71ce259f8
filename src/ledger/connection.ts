import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { CamelCasePlugin, Kysely, sql } from 'kysely';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { DomainError } from '../domain/errors.ts';
import type { Database, Tables } from './database.ts';
import { SessionlessDialect } from './dialect.ts';
import { isPlanOutdated, PreparedStatements } from './prepared-statements.ts';

const INT8_OID = 20;
const NUMERIC_OID = 1700;
const MAX_CONNECTIONS = 16;
// Ends the locks of a client that disappeared. Shorter than the timeout of every activity that can wait for such a
// lock.
const STATEMENT_TIMEOUT_MS = 8_000;
// A running server answers or cancels each statement within its timeout; a server that is silent for longer has failed.
const SILENCE_MARGIN_MS = 1_000;

/** These settings are set after connecting, because poolers such as PgBouncer refuse them in the start-up packet. */
const TIMEOUT_SETTINGS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;

function sessionOptions(statementTimeoutMs: number): pg.PoolConfig {
  const maxSilenceMs = statementTimeoutMs + SILENCE_MARGIN_MS;
  const statements = new PreparedStatements();
  return {
    // Shorter than the socket timeout, so that the pool closes an idle connection before its socket times out.
    idleTimeoutMillis: maxSilenceMs / 2,
    stream: () => socketWithSilenceLimit(maxSilenceMs),
    verify: (client, done) =>
      callbackify(async () => {
        if (await setSessionTimeouts(client, statementTimeoutMs)) statements.apply(client);
      })(done),
  };
}

/**
 * Sets the timeouts of the session. Behind a pooler, clients share sessions and the process ids differ, so that nothing
 * is set and the settings of the role apply. Returns whether the session is this client's own.
 */
async function setSessionTimeouts(client: pg.PoolClient, timeoutMs: number): Promise<boolean> {
  const processId = 'processID' in client ? client.processID : null;
  const settings = TIMEOUT_SETTINGS.map((name) => `set_config('${name}', '${timeoutMs}', false)`).join();
  const { rows } = await client.query(`select ${settings} where pg_backend_pid() = $1`, [processId]);
  return rows.length > 0;
}

/** SQL that sets the timeouts of the current transaction; 0 removes the timeouts of the server, database or role. */
function transactionTimeoutSql(timeoutMs: number): string {
  return TIMEOUT_SETTINGS.map((name) => `set local ${name} = ${timeoutMs}`).join('; ');
}

/** The connection string without timeout settings, and its statement timeout in milliseconds or the default. */
function splitTimeouts(databaseUrl: string): {
  readonly plainUrl: string;
  readonly statementTimeoutMs: number;
} {
  if (!URL.canParse(databaseUrl)) return { plainUrl: databaseUrl, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const url = new URL(databaseUrl);
  const statementTimeoutMs = Number(url.searchParams.get('statement_timeout')) || STATEMENT_TIMEOUT_MS;
  const isPlain = !TIMEOUT_SETTINGS.some((limit) => url.searchParams.has(limit));
  for (const limit of TIMEOUT_SETTINGS) url.searchParams.delete(limit);
  return { plainUrl: isPlain ? databaseUrl : url.href, statementTimeoutMs };
}

/**
 * Creates a lazy connection pool; int8 and numeric are parsed as bigint. `unlimited` removes the timeouts and is only
 * for migrations, which take minutes on large tables; each of its transactions first takes the migration lock.
 */
export function connect(databaseUrl: string, { unlimited = false } = {}): Database {
  const { plainUrl, statementTimeoutMs } = splitTimeouts(databaseUrl);
  const pool = new pg.Pool({
    connectionString: plainUrl,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    ...(unlimited ? {} : sessionOptions(statementTimeoutMs)),
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8_OID || oid === NUMERIC_OID ? BigInt : pg.types.getTypeParser(oid, format),
    },
  });
  // Without these handlers a broken connection would end the process. The pool drops it, and its next statement fails.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const settings = transactionTimeoutSql(unlimited ? 0 : statementTimeoutMs);
  return new Kysely<Tables>({
    dialect: new SessionlessDialect({ pool }, { settings, takesMigrationLock: unlimited }),
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
 * A socket that closes itself after `maxSilenceMs` without data, which frees its place in the pool. A query timeout
 * would leave the connection open, and the next query would wait behind the one that hangs.
 */
function socketWithSilenceLimit(maxSilenceMs: number): Socket {
  const socket = new Socket();
  const timeoutError = Object.assign(
    new Error(`PostgreSQL sent no data on this connection for ${maxSilenceMs} ms`),
    { code: 'ETIMEDOUT' },
  );
  return socket.setTimeout(maxSilenceMs, () => socket.destroy(timeoutError));
}

/**
 * True for temporary errors. SQLSTATE classes: 08 connection, 57P server starting or stopping, 53 no
 * disk, memory or connections. Single codes: timeout, read-only server, serialization failure, deadlock. A migration
 * can outdate a prepared plan. The failed statement can still have been executed, because the answer to a successful
 * commit can be lost.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|08...|57P..|53...|57014|25006|40001|40P01)$/.test(code) ||
    isPlanOutdated(error) ||
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/.test(
      error.message,
    )
  );
}

/**
 * The public error for one that {@link isDatabaseUnavailable} accepts, else null. `reads`: the request changes nothing.
 */
export function databaseFault(error: unknown, { reads = false } = {}): DomainError | null {
  if (!isDatabaseUnavailable(error)) return null;
  const outage = 'PostgreSQL does not answer: check its server and the network';
  const advice = '. The request may still have been executed: check its result before you repeat it';
  return new DomainError('Unavailable', reads ? outage : `${outage}${advice}`, {}, error);
}

/** True if `error` reports a violation of the unique constraint or index `constraint`. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}

const STREAM_BATCH_ROWS = 10_000;

/** Streams the rows of one query in batches, each row as an array of its columns. The connection has no timeouts. */
export async function* streamQuery<Row extends readonly unknown[]>(
  databaseUrl: string,
  query: string,
): AsyncGenerator<readonly Row[]> {
  const client = new pg.Client({
    connectionString: splitTimeouts(databaseUrl).plainUrl,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // Without a handler a broken connection would end the process. It rejects the pending or the next read.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // A pooler keeps a transaction on one server connection. The transaction ends when the client disconnects.
    await client.query(`begin; ${transactionTimeoutSql(0)}`);
    const cursor = client.query(new Cursor<Row>(query, [], { rowMode: 'array' }));
    for (;;) {
      const rows = await cursor.read(STREAM_BATCH_ROWS);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    await client.end();
  }
}
