import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Trx } from '../database.ts';

/** After this long without a pulse, an older copy may have replaced the database. */
export const MAX_SILENCE_SECONDS = 180;

/**
 * Identifies this copy: PostgreSQL cluster, timeline (another after a failover or point-in-time recovery), database,
 * and attempt table (another after a dump is loaded).
 */
export const IDENTITY = sql<string>`(select system_identifier from pg_control_system()) || '/'
  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
  || (select oid from pg_database where datname = current_database()) || '/' || 'attempt'::regclass::oid`;

/**
 * Id of the period in which a restore may have lost rows, or null. Silence is harmless if PostgreSQL ran throughout:
 * its files cannot be replaced while it runs.
 */
export const POSSIBLE_LOSS = sql<string | null>`(
  select identity || ' ' || extract(epoch from seen_at) from continuity
  where identity <> ${IDENTITY} or (seen_at <= now() - make_interval(secs => ${MAX_SILENCE_SECONDS})
    and pg_postmaster_start_time() > seen_at))`;

/** Current epoch: the number of gaps that have ended. */
export const EPOCH = sql<number>`coalesce((select generation from continuity), 0)`;

/** Identifies this copy in its current epoch. */
export const DATABASE_ID = sql<string>`${IDENTITY} || '/' || ${EPOCH}`;

/** True if this database has all rows that were written under this id; stays true until the transaction ends. */
export async function isSameDatabase(trx: Trx, databaseId: string): Promise<boolean> {
  if (await mayHaveLostRows(trx)) return false;
  const { id } = await trx.selectNoFrom(DATABASE_ID.as('id')).executeTakeFirstOrThrow();
  return id === databaseId;
}

/** True if a restore may have lost rows; the answer is valid until the transaction ends. */
export async function mayHaveLostRows(trx: Trx): Promise<boolean> {
  await trx.selectFrom('continuity').select('one').forShare().executeTakeFirst();
  const { loss } = await trx.selectNoFrom(POSSIBLE_LOSS.as('loss')).executeTakeFirstOrThrow();
  return loss !== null;
}

/** Throws RecordInDoubt if a restore may have lost assignments of addresses; valid until the transaction ends. */
export async function refuseIfRowsMayBeLost(trx: Trx): Promise<void> {
  if (!(await mayHaveLostRows(trx))) return;
  const message =
    'the database may have been restored from a backup: no address is assigned until the search for lost payments ends';
  throw new DomainError('RecordInDoubt', message);
}
