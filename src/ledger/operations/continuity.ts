import { sql, type UpdateObject } from 'kysely';
import { type Database, exists, Repository, type Tables, type Trx } from '../database.ts';
import { withholdUnassigned } from '../deposits/addresses-after-restore.ts';
import { raiseLastSequence } from '../deposits/deposit-feed.ts';
import { DATABASE_ID, IDENTITY, MAX_SILENCE_SECONDS, mayHaveLostRows } from './restore-detection.ts';

/**
 * A period whose rows a restore may have lost. Its attempts have landed or can no longer land above `quarantineHeight`.
 */
export interface RestoreGap {
  readonly reason: string;
  /** Block height; null until a process has read it from the chain. */
  readonly quarantineHeight: bigint | null;
  /** True if no lost attempt can use a durable nonce any longer. The height must be set after that is known. */
  readonly noncesSettled: boolean;
}

/** Stored instead of an identity when the disk was rolled back within the same PostgreSQL cluster. */
const ROLLED_BACK_IDENTITY = 'rolled back';

/**
 * Detects that the database was restored from a backup: the row of `continuity` is part of a backup, the identity and
 * the clock of the server are not. Attempts are prepared only while {@link IS_UNBROKEN} is true.
 */
export class Continuity extends Repository {
  readonly #readFlushedEnd: () => Promise<bigint>;
  /** End of the flushed write-ahead log at the last pulse of this process, in bytes. */
  #flushedEnd = 0n;

  constructor(db: Database, readFlushedEnd = () => flushedEndOf(db)) {
    super(db);
    this.#readFlushedEnd = readFlushedEnd;
  }

  /**
   * Records that the database is in use. Returns the current gap, or null if the history is unbroken. A write-ahead log
   * that ends before its end at the last pulse also begins a gap: the disk was rolled back.
   */
  async pulse(): Promise<RestoreGap | null> {
    const flushedEnd = await this.#readFlushedEnd();
    if (flushedEnd < this.#flushedEnd) {
      // An old `seen_at` would not keep the gap open: while the server has run without restart, it indicates no
      // restore.
      await sql`update continuity set identity = ${ROLLED_BACK_IDENTITY} where identity = ${IDENTITY}`.execute(
        this.db,
      );
    }
    this.#flushedEnd = flushedEnd;
    await sql`insert into continuity (identity, seen_at) values (${IDENTITY}, now()) on conflict (one) do update
      set seen_at = now() where ${IS_UNBROKEN}`.execute(this.db);
    return gapOf(this.db);
  }

  /** Id of this database. A restore changes the id, and so does the end of a gap. */
  async databaseId(): Promise<string> {
    return (await this.db.selectNoFrom(DATABASE_ID.as('id')).executeTakeFirstOrThrow()).id;
  }

  /** True if no row written since epoch `epoch` can be lost. Also true if no worker has used the database yet. */
  async isUnbrokenSince(epoch: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('continuity')
      .select('epoch')
      .select(sql<boolean>`${IS_UNBROKEN}`.as('isUnbroken'))
      .executeTakeFirst();
    return row === undefined || (row.isUnbroken && row.epoch === epoch);
  }

  /**
   * Sets the block height above which the gap can end. Does nothing unless the stored height equals `previous` (null:
   * none yet), so that the first of concurrent callers wins. `noncesSettled`: see {@link RestoreGap}.
   */
  async quarantine(height: bigint, previous: bigint | null, noncesSettled = false): Promise<void> {
    const values = { quarantineHeight: height, quarantineIdentity: IDENTITY, noncesSettled };
    await this.db.transaction().execute((trx) => replaceGap(trx, previous, values));
  }

  /**
   * Ends the gap. Before, the caller must have seen a quorum finalize a block above `height`, and must have judged the
   * wallets' history up to that block. Assignments of addresses and published events may be lost, so unassigned
   * addresses are withheld, and event sequences continue above every number that can have been published.
   */
  async endGap(height: bigint): Promise<void> {
    const values = {
      identity: IDENTITY,
      epoch: sql<number>`continuity.epoch + 1`,
      seenAt: sql<Date>`now()`,
      quarantineHeight: null,
      quarantineIdentity: null,
      noncesSettled: false,
    };
    await this.db.transaction().execute(async (trx) => {
      await trx.selectFrom('continuity').select('one').forUpdate().executeTakeFirst();
      const mayBeLost = await mayHaveLostRows(trx);
      await raiseLastSequence(trx);
      if ((await replaceGap(trx, height, values)) && mayBeLost) await withholdUnassigned(trx);
    });
  }
}

/** End of the flushed write-ahead log in bytes. A crash can lose the log after it, which contains no commit. */
async function flushedEndOf(db: Database): Promise<bigint> {
  const end = sql<bigint>`(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)`.as('end');
  return (await db.selectNoFrom(end).executeTakeFirstOrThrow()).end;
}

/**
 * Updates the gap. Returns false if its height is not `height`. Deletes lost nonces, which are settled or found again.
 */
async function replaceGap(
  trx: Trx,
  height: bigint | null,
  values: UpdateObject<Tables, 'continuity'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('continuity')
    .set(values)
    .where(QUARANTINE_HEIGHT, 'is not distinct from', height)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) await trx.deleteFrom('lostNonce').execute();
  return numUpdatedRows > 0n;
}

// Null for a height that another copy of the database has set and that a backup has restored: it is not of this gap.
const QUARANTINE_HEIGHT = sql<bigint | null>`case when continuity.quarantine_identity = ${IDENTITY}
  then continuity.quarantine_height end`;

/**
 * True if no rows can be lost: the database is the same copy as at the last pulse, which is recent, and has no
 * gap.
 */
export const IS_UNBROKEN = sql<boolean>`continuity.identity = ${IDENTITY} and continuity.quarantine_height is null
  and continuity.seen_at > now() - make_interval(secs => ${MAX_SILENCE_SECONDS})`;

/** The current gap; null if the history is unbroken, or if no worker has used the database yet. */
export async function gapOf(db: Database): Promise<RestoreGap | null> {
  const row = await db
    .selectFrom('continuity')
    .select(['seenAt', 'noncesSettled'])
    .select(QUARANTINE_HEIGHT.as('quarantineHeight'))
    .select(sql<boolean>`identity = ${IDENTITY}`.as('isSameCopy'))
    .select(sql<boolean>`${IS_UNBROKEN}`.as('isUnbroken'))
    .executeTakeFirst();
  if (row === undefined || row.isUnbroken) return null;
  const { quarantineHeight, noncesSettled } = row;
  return {
    reason: gapReason(row),
    quarantineHeight,
    noncesSettled: quarantineHeight !== null && noncesSettled,
  };
}

function gapReason({ isSameCopy, seenAt }: { readonly isSameCopy: boolean; readonly seenAt: Date }): string {
  const lastUse = seenAt.toISOString();
  return isSameCopy
    ? `the database was last in use at ${lastUse}: it may have been restored from a backup`
    : `the database was last written to on another server, at ${lastUse}: it was restored from a backup`;
}

/** True if `height` is the quarantine height of the current gap. Locks the gap's row until the transaction ends. */
export async function isQuarantineHeight(trx: Trx, height: bigint): Promise<boolean> {
  return exists(trx.selectFrom('continuity').select('one').where(QUARANTINE_HEIGHT, '=', height).forShare());
}
