import { sql } from 'kysely';
import type { Database } from './database.ts';

/** A gap in the record: what it was, and the finalized block height above which every attempt of before has landed or can never land. */
export interface Gap {
  readonly why: string;
  /** Null until somebody has asked the chain. */
  readonly quarantineHeight: bigint | null;
}

/** Without a pulse for so long the record may be an older one put in the place of a newer. */
const LONGEST_SILENCE_SECONDS = 180;

/**
 * Names this very copy of the record: the cluster, its timeline (a failover or a point-in-time recovery begins another), the
 * database and the table of attempts (a dump that is read in makes others).
 */
const IDENTITY = sql<string>`(select system_identifier from pg_control_system()) || '/'
  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
  || (select oid from pg_database where datname = current_database()) || '/' || 'attempt'::regclass::oid`;

/**
 * Tells whether this record goes on from what was written last. The row is part of what a backup restores, so it speaks of the past;
 * the identity and the clock of the server that holds it speak of now. Only an unbroken row lets attempts be prepared.
 */
export class Continuity {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Says that the record is in use. Answers the gap where it was not unbroken until now; null where all is well. */
  async pulse(): Promise<Gap | null> {
    await sql`insert into continuity (identity, seen_at) values (${IDENTITY}, now()) on conflict (one) do update
      set seen_at = now() where ${UNBROKEN}`.execute(this.#db);
    return gapOf(this.#db);
  }

  /** The height that ends the gap, in the place of the one that was read (null: none yet). Of two that ask at once the first counts. */
  async quarantine(height: bigint, instead: bigint | null): Promise<void> {
    await this.#db
      .updateTable('continuity')
      .set({ quarantineHeight: height })
      .where('quarantineHeight', 'is not distinct from', instead)
      .execute();
  }

  /** Ends the gap, for whoever has seen that a quorum has finalized more than `height` and judged the wallet's history after that. */
  async heal(height: bigint): Promise<void> {
    await this.#db
      .updateTable('continuity')
      .set({ identity: IDENTITY, seenAt: sql<Date>`now()`, quarantineHeight: null })
      .where('quarantineHeight', '=', height)
      .execute();
  }
}

const UNBROKEN = sql<boolean>`continuity.identity = ${IDENTITY} and continuity.quarantine_height is null
  and continuity.seen_at > now() - make_interval(secs => ${LONGEST_SILENCE_SECONDS})`;

/** The gap as the record shows it now; null where it is unbroken, or no process with a chain has ever used it. */
export async function gapOf(db: Database): Promise<Gap | null> {
  const row = await db
    .selectFrom('continuity')
    .select(['quarantineHeight', 'seenAt'])
    .select(sql<boolean>`identity = ${IDENTITY}`.as('same'))
    .select(sql<boolean>`${UNBROKEN}`.as('unbroken'))
    .executeTakeFirst();
  if (row === undefined || row.unbroken) return null;
  const last = row.seenAt.toISOString();
  const why = row.same
    ? `the record was last in use at ${last}: it may be an older copy`
    : `the record was last written to elsewhere, at ${last}: it is a restored copy`;
  return { why, quarantineHeight: row.quarantineHeight };
}
