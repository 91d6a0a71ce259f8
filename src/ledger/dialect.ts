import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresAdapter,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';

/** Key of the lock that Kysely's own migrator takes, so that processes of older releases wait for this one. */
const MIGRATION_LOCK = 3853314791062309107n;

/**
 * `settings`: SQL after `begin` in each transaction. `takesMigrationLock`: each transaction first waits for that lock.
 */
interface TransactionStart {
  readonly settings: string;
  readonly takesMigrationLock: boolean;
}

/** PostgreSQL without session state, which a pooler in transaction mode does not keep. */
export class SessionlessDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  readonly #start: TransactionStart;

  constructor(config: PostgresDialectConfig, start: TransactionStart) {
    super(config);
    this.#config = config;
    this.#start = start;
  }

  override createDriver(): Driver {
    return new SessionlessDriver(this.#config, this.#start);
  }

  override createAdapter(): PostgresAdapter {
    return new SessionlessAdapter();
  }
}

class SessionlessDriver extends PostgresDriver {
  readonly #start: TransactionStart;

  constructor(config: PostgresDialectConfig, start: TransactionStart) {
    super(config);
    this.#start = start;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    { isolationLevel, accessMode }: TransactionSettings,
  ): Promise<void> {
    const isolation = isolationLevel === undefined ? '' : ` isolation level ${isolationLevel}`;
    const { settings, takesMigrationLock } = this.#start;
    // Sent as one message, so that the settings cost no extra round trip.
    const statement = `begin${isolation} ${accessMode ?? ''}; ${settings}`;
    await connection.executeQuery(CompiledQuery.raw(statement));
    if (!takesMigrationLock) return;
    // A separate statement: the timeout set above applies only to statements of later messages.
    await connection.executeQuery(CompiledQuery.raw(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`));
  }
}

/** Replaces Kysely's session lock: {@link SessionlessDriver} takes the same lock for each transaction. */
class SessionlessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}
