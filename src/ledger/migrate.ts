import { type Migration, Migrator, sql } from 'kysely';
import pg from 'pg';
import { connect } from './connection.ts';
import type { Database } from './database.ts';
import { settlements } from './migrations/0001-settlements.ts';
import { nonces } from './migrations/0002-nonces.ts';
import { attempts } from './migrations/0003-attempts.ts';
import { operations } from './migrations/0004-operations.ts';
import { cluster } from './migrations/0005-cluster.ts';
import { addresses } from './migrations/0006-addresses.ts';
import { hotWallets } from './migrations/0007-hot-wallets.ts';
import { scan } from './migrations/0008-scan.ts';
import { deposits } from './migrations/0009-deposits.ts';
import { webhooks } from './migrations/0010-webhooks.ts';
import { reconciliation } from './migrations/0011-reconciliation.ts';
import { payments } from './migrations/0012-payments.ts';

/** Migrations by name; they run in the order of their names. */
export type Migrations = Readonly<Record<string, Migration>>;

/**
 * All migrations. After the first release this list is append-only, and a released migration never changes. A later
 * migration changes at most one table that older processes use, and takes the table's strongest lock in its first
 * statement, so that it holds no other lock while it waits.
 */
export const MIGRATIONS: Migrations = {
  '0001-settlements': settlements,
  '0002-nonces': nonces,
  '0003-attempts': attempts,
  '0004-operations': operations,
  '0005-cluster': cluster,
  '0006-addresses': addresses,
  '0007-hot-wallets': hotWallets,
  '0008-scan': scan,
  '0009-deposits': deposits,
  '0010-webhooks': webhooks,
  '0011-reconciliation': reconciliation,
  '0012-payments': payments,
};

const UNDEFINED_TABLE = '42P01';

/**
 * Migrates to the newest schema. Many processes can call this at the same time, because each migration takes an
 * advisory lock. Each migration commits separately: with the locks of several it could deadlock with older processes.
 */
export async function migrate(databaseUrl: string, migrations: Migrations = MIGRATIONS): Promise<void> {
  const db = connect(databaseUrl, { unlimited: true });
  try {
    const provider = { getMigrations: async () => migrations };
    // The migrator orders applied migrations by the clocks of the processes that ran them, and these clocks can differ.
    const migrator = new Migrator({ db, provider, allowUnorderedMigrations: true });
    while (await runNextMigration(migrator));
  } finally {
    await db.destroy();
  }
}

/** True if exactly these migrations are applied. Takes no lock for which a migration would wait. */
export async function isMigrated(db: Database, migrations: Migrations = MIGRATIONS): Promise<boolean> {
  const names = Object.keys(migrations);
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
    const applied = new Set(rows.map(({ name }) => name));
    return applied.size === names.length && names.every((name) => applied.has(name));
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return false;
    throw error;
  }
}

/** Runs the next migration. Returns false if all are applied. */
async function runNextMigration(migrator: Migrator): Promise<boolean> {
  const { error, results = [] } = await migrator.migrateUp();
  if (error === undefined) return results.length > 0;
  throw error instanceof Error ? error : new Error('a migration failed', { cause: error });
}
