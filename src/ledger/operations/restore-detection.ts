import { sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Tables } from '../database.ts';

/** Without a pulse for so long the record may be an older one put in the place of a newer. */
export const LONGEST_SILENCE_SECONDS = 180;

/**
 * Names this very copy of the record: the cluster, its timeline (a failover or a point-in-time recovery begins another), the
 * database and the table of attempts (a dump that is read in makes others).
 */
export const IDENTITY = sql<string>`(select system_identifier from pg_control_system()) || '/'
  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
  || (select oid from pg_database where datname = current_database()) || '/' || 'attempt'::regclass::oid`;

/**
 * Names the gap in which this record may have lost rows for good; null where it cannot have. Silence alone is no doubt while the server
 * has run all through it: nobody can put older files under a running server.
 */
export const DOUBT = sql<string | null>`(select identity || ' ' || extract(epoch from seen_at) from continuity
  where identity <> ${IDENTITY} or (seen_at <= now() - make_interval(secs => ${LONGEST_SILENCE_SECONDS})
    and pg_postmaster_start_time() > seen_at))`;

/** Of the record as it is: what is written now has seen the end of so many gaps. */
export const GENERATION = sql<number>`coalesce((select generation from continuity), 0)`;

export const RECORD = sql<string>`${IDENTITY} || '/' || ${GENERATION}`;

/** Whether what was written to the record of this name is in this one, too; the answer binds until the transaction ends. */
export async function isRecord(trx: Transaction<Tables>, name: string): Promise<boolean> {
  if (await isInDoubt(trx)) return false;
  const { record } = await trx.selectNoFrom(RECORD.as('record')).executeTakeFirstOrThrow();
  return record === name;
}

/** Whether the record may have lost rows for good; the answer binds until the transaction ends. */
export async function isInDoubt(trx: Transaction<Tables>): Promise<boolean> {
  await trx.selectFrom('continuity').select('one').forShare().executeTakeFirst();
  const { doubt } = await trx.selectNoFrom(DOUBT.as('doubt')).executeTakeFirstOrThrow();
  return doubt !== null;
}

/** Throws RecordInDoubt where the record may have forgotten to whom what was given; binds until the transaction ends. */
export async function refuseInDoubt(trx: Transaction<Tables>): Promise<void> {
  if (!(await isInDoubt(trx))) return;
  const message =
    'the record may be an older copy, in which an address that a user has is free: none is given out';
  throw new DomainError('RecordInDoubt', message);
}
