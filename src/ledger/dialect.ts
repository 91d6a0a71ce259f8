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

/** The lock of Kysely's own migrator, so that processes of older releases wait for this one. */
const MIGRATION_LOCK = 3853314791062309107n;

/** Statements after `begin` in each transaction; `locked`: the transaction first waits for the migration lock. */
interface Opening {
  readonly settings: string;
  readonly locked: boolean;
}

/** PostgreSQL without session state, which a pooler in transaction mode does not keep. */
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
    // A separate statement, so that the timeout from the message before applies to this wait.
    await connection.executeQuery(CompiledQuery.raw(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`));
  }
}

/** Kysely would take a session lock here. {@link SessionlessDriver} takes the same lock for the transaction. */
class SessionlessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}
