import { sql, type UpdateObject } from 'kysely';
import { type Database, exists, Repository, type Tables, type Trx } from '../database.ts';
import { withholdUnassigned } from '../deposits/addresses-after-restore.ts';
import { renumber } from '../deposits/deposit-feed.ts';
import { DATABASE_ID, IDENTITY, MAX_SILENCE_SECONDS, mayHaveLostRows } from './restore-detection.ts';

/** A possible loss by a restore. Above `quarantineHeight` every earlier attempt has landed or can never land. */
export interface RestoreGap {
  readonly reason: string;
  /** Null until a process has read it from the chain. */
  readonly quarantineHeight: bigint | null;
  /** True if no earlier attempt can use a durable nonce any more, and the height was set after that was known. */
  readonly noncesSettled: boolean;
}

/** Identity of a copy whose disk was rolled back in the same PostgreSQL cluster. */
const ROLLED_BACK_IDENTITY = 'rolled back';

/**
 * Detects that the database was restored: the row is part of a backup, the server's identity and clock are not.
 * Attempts are prepared only while {@link IS_UNBROKEN} is true.
 */
export class Continuity extends Repository {
  readonly #readFlushedEnd: () => Promise<bigint>;
  /** Flushed end of the write-ahead log at the last pulse of this process, in bytes. */
  #flushedEnd = 0n;

  constructor(db: Database, flushed = () => flushedEndOf(db)) {
    super(db);
    this.#readFlushedEnd = flushed;
  }

  /**
   * Records that the database is in use. Returns the gap, or null if the history is unbroken. A write-ahead log that
   * ends earlier than at the last pulse is a gap too: the disk was rolled back.
   */
  async pulse(): Promise<RestoreGap | null> {
    const flushed = await this.#readFlushedEnd();
    if (flushed < this.#flushedEnd) {
      // Not by an old `seen_at`: a server that started before it shows no restore, so the next pulse would end the gap.
      await sql`update continuity set identity = ${ROLLED_BACK_IDENTITY} where identity = ${IDENTITY}`.execute(
        this.db,
      );
    }
    this.#flushedEnd = flushed;
    await sql`insert into continuity (identity, seen_at) values (${IDENTITY}, now()) on conflict (one) do update
      set seen_at = now() where ${IS_UNBROKEN}`.execute(this.db);
    return gapOf(this.db);
  }

  /** Identifies this database. The id changes with a restore, and at the end of a gap. */
  async databaseId(): Promise<string> {
    return (await this.db.selectNoFrom(DATABASE_ID.as('id')).executeTakeFirstOrThrow()).id;
  }

  /** True if no row since `generation` can be lost. Without a row, no judging process has prepared an attempt. */
  async isUnbrokenSince(generation: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('continuity')
      .select('generation')
      .select(sql<boolean>`${IS_UNBROKEN}`.as('unbroken'))
      .executeTakeFirst();
    return row === undefined || (row.unbroken && row.generation === generation);
  }

  /**
   * Sets the height that ends the gap, in place of `instead` (null: none yet); of concurrent callers the first one
   * wins. `noncesSettled`: it was read after no earlier attempt could use a durable nonce.
   */
  async quarantine(height: bigint, instead: bigint | null, noncesSettled = false): Promise<void> {
    const values = { quarantineHeight: height, quarantineIdentity: IDENTITY, noncesSettled };
    await this.db.transaction().execute((trx) => replaceGap(trx, instead, values));
  }

  /**
   * Ends the gap. The caller has seen a quorum finalize a block above `height`, and has judged the wallets' history
   * after that. Users of free addresses and published events are lost: the addresses are withheld, and sequences
   * continue above all that can have been published.
   */
  async endGap(height: bigint): Promise<void> {
    const values = {
      identity: IDENTITY,
      generation: sql<number>`continuity.generation + 1`,
      seenAt: sql<Date>`now()`,
      quarantineHeight: null,
      quarantineIdentity: null,
      noncesSettled: false,
    };
    await this.db.transaction().execute(async (trx) => {
      await trx.selectFrom('continuity').select('one').forUpdate().executeTakeFirst();
      const mayBeLost = await mayHaveLostRows(trx);
      await renumber(trx);
      if ((await replaceGap(trx, height, values)) && mayBeLost) await withholdUnassigned(trx);
    });
  }
}

/** Only the flushed part: a machine crash may lose the rest, which contains no commit. */
async function flushedEndOf(db: Database): Promise<bigint> {
  const end = sql<bigint>`(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)`.as('end');
  return (await db.selectNoFrom(end).executeTakeFirstOrThrow()).end;
}

/** Returns false if the stored height differs. Lost nonces are deleted: they are settled, or found again. */
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

// A height that was set in another copy, and restored with its backup, does not belong to this gap.
const QUARANTINE_HEIGHT = sql<bigint | null>`case when continuity.quarantine_identity = ${IDENTITY}
  then continuity.quarantine_height end`;

/** True if the database continues from its last write: the same copy, without a gap, with a recent pulse. */
export const IS_UNBROKEN = sql<boolean>`continuity.identity = ${IDENTITY} and continuity.quarantine_height is null
  and continuity.seen_at > now() - make_interval(secs => ${MAX_SILENCE_SECONDS})`;

/** The current gap; null if the history is unbroken, or if no process with a chain has used the database. */
export async function gapOf(db: Database): Promise<RestoreGap | null> {
  const row = await db
    .selectFrom('continuity')
    .select(['seenAt', 'noncesSettled'])
    .select(QUARANTINE_HEIGHT.as('quarantineHeight'))
    .select(sql<boolean>`identity = ${IDENTITY}`.as('same'))
    .select(sql<boolean>`${IS_UNBROKEN}`.as('unbroken'))
    .executeTakeFirst();
  if (row === undefined || row.unbroken) return null;
  const { quarantineHeight, noncesSettled } = row;
  return {
    reason: brokenReason(row),
    quarantineHeight,
    noncesSettled: quarantineHeight !== null && noncesSettled,
  };
}

function brokenReason({ same, seenAt }: { readonly same: boolean; readonly seenAt: Date }): string {
  const last = seenAt.toISOString();
  return same
    ? `the database was last in use at ${last}: it may have been restored from a backup`
    : `the database was last written to on another server, at ${last}: it was restored from a backup`;
}

/** True if `height` ends the current gap; locks it until the transaction ends. */
export async function isQuarantineHeight(trx: Trx, height: bigint): Promise<boolean> {
  return exists(trx.selectFrom('continuity').select('one').where(QUARANTINE_HEIGHT, '=', height).forShare());
}
