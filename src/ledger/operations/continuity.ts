import { sql, type Transaction, type UpdateObject } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Tables } from '../database.ts';
import { doubtFree } from '../deposits/addresses-after-restore.ts';
import { renumber } from '../deposits/deposit-feed.ts';
import { IDENTITY, isInDoubt, LONGEST_SILENCE_SECONDS, RECORD } from './restore-detection.ts';

/** A gap in the record: what it was, and the finalized block height above which every attempt of before has landed or can never land. */
export interface Gap {
  readonly reason: string;
  /** Null until somebody has asked the chain. */
  readonly quarantineHeight: bigint | null;
  /** True where no attempt of before can use a durable nonce any more, and the height was set after that was known. */
  readonly noncesSettled: boolean;
}

/** The identity of no copy: the record was freed from its cluster. */
const DISOWNED = 'disowned';
/** The identity of a copy whose disk was rolled back under the same cluster. */
const ROLLED_BACK = 'rolled back';

/**
 * Tells whether this record goes on from what was written last. The row is part of what a backup restores, so it speaks of the past;
 * the identity and the clock of the server that holds it speak of now. Only an unbroken row lets attempts be prepared.
 */
export class Continuity {
  readonly #db: Database;
  readonly #flushed: () => Promise<bigint>;
  /** How far the write-ahead log was on disk at the last pulse of this process, in bytes. */
  #flushedTo = 0n;

  constructor(db: Database, flushed = () => flushedTo(db)) {
    this.#db = db;
    this.#flushed = flushed;
  }

  /**
   * Says that the record is in use. Answers the gap where it was not unbroken until now; null where all is well. A write-ahead log that
   * ends earlier than at the pulse before is a gap, too: the disk was rolled back under the same cluster.
   */
  async pulse(): Promise<Gap | null> {
    const flushed = await this.#flushed();
    if (flushed < this.#flushedTo) {
      // Not by an old `seen_at`: a server that started before that leaves it no doubt, and the next pulse would forget the gap.
      await sql`update continuity set identity = ${ROLLED_BACK} where identity = ${IDENTITY}`.execute(
        this.#db,
      );
    }
    this.#flushedTo = flushed;
    await sql`insert into continuity (identity, seen_at) values (${IDENTITY}, now()) on conflict (one) do update
      set seen_at = now() where ${UNBROKEN}`.execute(this.#db);
    return gapOf(this.#db);
  }

  /** Names the record as it is: what is put in its place has another name, and so has what it is once the gap has healed. */
  async record(): Promise<string> {
    return (await this.#db.selectNoFrom(RECORD.as('record')).executeTakeFirstOrThrow()).record;
  }

  /**
   * True where nothing that was written since the record was of this `generation` can be lost. Without a row no attempt was ever
   * prepared by a process that judges.
   */
  async isUnbrokenSince(generation: number): Promise<boolean> {
    const row = await this.#db
      .selectFrom('continuity')
      .select('generation')
      .select(sql<boolean>`${UNBROKEN}`.as('unbroken'))
      .executeTakeFirst();
    return row === undefined || (row.unbroken && row.generation === generation);
  }

  /**
   * The height that ends the gap, in the place of the one that was read (null: none yet). Of two that ask at once the first counts.
   * `noncesSettled` where it was asked for after no attempt of before could use a durable nonce any more.
   */
  async quarantine(height: bigint, instead: bigint | null, noncesSettled = false): Promise<void> {
    const values = { quarantineHeight: height, quarantineIdentity: IDENTITY, noncesSettled };
    await this.#db.transaction().execute((trx) => replaceGap(trx, instead, values));
  }

  /**
   * Ends the gap, for whoever has seen that a quorum has finalized more than `height` and judged the wallet's history after that.
   * What no chain tells, whose the free addresses are and what was told of deposits, stays lost: the addresses are kept back, the
   * events counted on from where none can have been.
   */
  async heal(height: bigint): Promise<void> {
    const values = {
      identity: IDENTITY,
      generation: sql<number>`continuity.generation + 1`,
      seenAt: sql<Date>`now()`,
      quarantineHeight: null,
      quarantineIdentity: null,
      noncesSettled: false,
    };
    await this.#db.transaction().execute(async (trx) => {
      await trx.selectFrom('continuity').select('one').forUpdate().executeTakeFirst();
      const doubt = await isInDoubt(trx);
      await renumber(trx);
      if ((await replaceGap(trx, height, values)) && doubt) await doubtFree(trx);
    });
  }
}

/** Only what is on disk: a crash of the machine may take the rest, and nothing of that was committed. */
async function flushedTo(db: Database): Promise<bigint> {
  const end = sql<bigint>`(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)`.as('end');
  return (await db.selectNoFrom(end).executeTakeFirstOrThrow()).end;
}

/**
 * Answers whether it was that height. What was suspected under the one that is replaced is suspected no more, or must be suspected anew.
 */
async function replaceGap(
  trx: Transaction<Tables>,
  height: bigint | null,
  values: UpdateObject<Tables, 'continuity'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('continuity')
    .set(values)
    .where(QUARANTINE, 'is not distinct from', height)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) await trx.deleteFrom('lostNonce').execute();
  return numUpdatedRows > 0n;
}

/**
 * Leaves a gap behind, for whoever frees a record from its cluster: what it paid there, or paid before it was restored, must be looked
 * for before it is trusted. Throws ClusterInUse in a copy that was written to elsewhere: that gap must end where it began.
 */
export async function disown(trx: Transaction<Tables>): Promise<void> {
  const row = await trx
    .selectFrom('continuity')
    .select(sql<boolean>`identity not in (${IDENTITY}, ${DISOWNED})`.as('elsewhere'))
    .executeTakeFirst();
  if (row?.elsewhere === true) {
    const message =
      'this record is a restored copy: its gap must end on its own cluster, or another gets a database of its own';
    throw new DomainError('ClusterInUse', message);
  }
  const broken = {
    quarantineHeight: null,
    quarantineIdentity: null,
    noncesSettled: false,
    identity: DISOWNED,
  };
  await trx
    .insertInto('continuity')
    .values({ ...broken, seenAt: sql<Date>`now()` })
    .onConflict((conflict) => conflict.column('one').doUpdateSet(broken))
    .execute();
}

// One that was set in another copy, and came with the backup, says nothing of this gap.
const QUARANTINE = sql<bigint | null>`case when continuity.quarantine_identity = ${IDENTITY}
  then continuity.quarantine_height end`;

/** True where the record goes on from what was written last. */
export const UNBROKEN = sql<boolean>`continuity.identity = ${IDENTITY} and continuity.quarantine_height is null
  and continuity.seen_at > now() - make_interval(secs => ${LONGEST_SILENCE_SECONDS})`;

/** The gap as the record shows it now; null where it is unbroken, or no process with a chain has ever used it. */
export async function gapOf(db: Database): Promise<Gap | null> {
  const row = await db
    .selectFrom('continuity')
    .select(['seenAt', 'noncesSettled'])
    .select(QUARANTINE.as('quarantineHeight'))
    .select(sql<boolean>`identity = ${IDENTITY}`.as('same'))
    .select(sql<boolean>`identity = ${DISOWNED}`.as('disowned'))
    .select(sql<boolean>`${UNBROKEN}`.as('unbroken'))
    .executeTakeFirst();
  if (row === undefined || row.unbroken) return null;
  const { quarantineHeight, noncesSettled } = row;
  return {
    reason: brokenReason(row),
    quarantineHeight,
    noncesSettled: quarantineHeight !== null && noncesSettled,
  };
}

function brokenReason(row: {
  readonly same: boolean;
  readonly disowned: boolean;
  readonly seenAt: Date;
}): string {
  const last = row.seenAt.toISOString();
  if (row.disowned) return `the record was freed from a cluster, where it was last in use at ${last}`;
  return row.same
    ? `the record was last in use at ${last}: it may be an older copy`
    : `the record was last written to elsewhere, at ${last}: it is a restored copy`;
}

/** True where `height` ends the present gap; binds until the transaction ends. */
export async function isQuarantine(trx: Transaction<Tables>, height: bigint): Promise<boolean> {
  const row = await trx
    .selectFrom('continuity')
    .select('one')
    .where(QUARANTINE, '=', height)
    .forShare()
    .executeTakeFirst();
  return row !== undefined;
}
