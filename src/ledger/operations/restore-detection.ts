import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Trx } from '../database.ts';

/** If no pulse is recorded for longer than this, an older copy may have replaced the database. */
export const MAX_SILENCE_SECONDS = 180;

/**
 * SQL for the identity of this copy: PostgreSQL cluster, timeline (a failover or point-in-time recovery begins a
 * new one), database, and attempt table (a loaded dump creates a new one).
 */
export const IDENTITY = sql<string>`(select system_identifier from pg_control_system()) || '/'
  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
  || (select oid from pg_database where datname = current_database()) || '/' || 'attempt'::regclass::oid`;

/**
 * SQL for the id of the period whose rows a restore may have lost, or null. Silence alone is harmless if PostgreSQL has
 * run throughout: its files cannot be replaced while it runs.
 */
export const POSSIBLE_LOSS = sql<string | null>`(
  select identity || ' ' || extract(epoch from seen_at) from continuity
  where identity <> ${IDENTITY} or (seen_at <= now() - make_interval(secs => ${MAX_SILENCE_SECONDS})
    and pg_postmaster_start_time() > seen_at))`;

/** SQL for the current epoch: the number of gaps that have ended. */
export const EPOCH = sql<number>`coalesce((select epoch from continuity), 0)`;

/** SQL for the id of this copy in its current epoch. */
export const DATABASE_ID = sql<string>`${IDENTITY} || '/' || ${EPOCH}`;

/**
 * True if this database has all rows that were written under `databaseId`; the result holds until the transaction ends.
 */
export async function isSameDatabase(trx: Trx, databaseId: string): Promise<boolean> {
  if (await mayHaveLostRows(trx)) return false;
  const { id } = await trx.selectNoFrom(DATABASE_ID.as('id')).executeTakeFirstOrThrow();
  return id === databaseId;
}

/** True if a restore may have lost rows; the result holds until the transaction ends. */
export async function mayHaveLostRows(trx: Trx): Promise<boolean> {
  await trx.selectFrom('continuity').select('one').forShare().executeTakeFirst();
  const { loss } = await trx.selectNoFrom(POSSIBLE_LOSS.as('loss')).executeTakeFirstOrThrow();
  return loss !== null;
}

/**
 * Throws DatabaseIncomplete if a restore may have lost assignments of addresses; the result holds until the transaction
 * ends.
 */
export async function refuseIfRowsMayBeLost(trx: Trx): Promise<void> {
  if (!(await mayHaveLostRows(trx))) return;
  const message =
    'the database may have been restored from a backup: no address is assigned until the search for lost payments ends';
  throw new DomainError('DatabaseIncomplete', message);
}
