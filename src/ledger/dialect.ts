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

/** The lock that Kysely's own migrator takes, so that a process of an older release waits for this one. */
const MIGRATION_LOCK = 3853314791062309107n;

/** Statements that begin each transaction after `begin`; `locked`: it waits for the lock of migrations first. */
interface Opening {
  readonly settings: string;
  readonly locked: boolean;
}

/**
 * PostgreSQL without any state of a session, which a pooler in transaction mode does not keep: settings and the lock of migrations live as
 * long as a transaction.
 */
export class SessionlessDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  readonly #opening: Opening;

  constructor(config: PostgresDialectConfig, opening: Opening) {
    super(config);
    this.#config = config;
    this.#opening = opening;
  }

  override createDriver(): Driver {
    return new SessionlessDriver(this.#config, this.#opening);
  }

  override createAdapter(): PostgresAdapter {
    return new SessionlessAdapter();
  }
}

class SessionlessDriver extends PostgresDriver {
  readonly #opening: Opening;

  constructor(config: PostgresDialectConfig, opening: Opening) {
    super(config);
    this.#opening = opening;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    { isolationLevel, accessMode }: TransactionSettings,
  ): Promise<void> {
    const isolation = isolationLevel === undefined ? '' : ` isolation level ${isolationLevel}`;
    const { settings, locked } = this.#opening;
    // One message, so that the settings cost no round trip.
    const begin = `begin${isolation} ${accessMode ?? ''}; ${settings}`;
    await connection.executeQuery(CompiledQuery.raw(begin));
    if (!locked) return;
    // A statement of its own: the limit that applies to this wait is the one that the message before has set.
    await connection.executeQuery(CompiledQuery.raw(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`));
  }
}

/** Kysely would take a lock of the session here. {@link SessionlessDriver} takes the same lock for the transaction. */
class SessionlessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}
