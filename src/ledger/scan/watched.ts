import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { WatchKind } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { streamQuery } from '../connection.ts';
import { anyOf, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';

export type WatchedWallet = Pick<RowOf<'watchedWallet'>, 'address' | 'kind'>;

/** Wallets that were added to the watch set after the requested version, up to `version`. */
export interface WatchDifference {
  readonly version: bigint;
  readonly wallets: readonly WatchedWallet[];
}

/** Blocks whose findings were matched with the watch set of `watchVersion`. */
export interface MatchedBlocks<Found> {
  readonly blocks: readonly Found[];
  readonly watchVersion: bigint;
}

/**
 * Reason why findings cannot be committed. `watch_set_changed`: wallets were added; match the blocks again with
 * {@link WatchedWallets.changesSince}. `unknown_version`: this database never had the version, so a backup was
 * restored; load the whole watch set again.
 */
export type StaleWatchSet = 'watch_set_changed' | 'unknown_version';

/**
 * The watch set: all watched wallets, each with the version that added it. Wallets are never removed, so a copy of
 * version v is completed by the rows with later versions. Versions grow by random steps, so that a version from before
 * a restore does not equal one from after it.
 */
export class WatchedWallets extends Repository {
  readonly #databaseUrl: string;

  constructor(db: Database, databaseUrl: string) {
    super(db);
    this.#databaseUrl = databaseUrl;
  }

  async version(): Promise<bigint> {
    const row = await this.db.selectFrom('watchVersion').select('version').executeTakeFirstOrThrow();
    return row.version;
  }

  /**
   * Streams every address in one query. Read {@link version} first, then load later wallets by {@link changesSince}.
   */
  async *stream(): AsyncGenerator<string> {
    for await (const rows of streamQuery<[string]>(this.#databaseUrl, 'select address from watched_wallet'))
      for (const [address] of rows) yield address;
  }

  /** Up to `limit` addresses after `after`, sorted; of all kinds if `kind` is not set. */
  async page(after: string | null, limit: number, kind?: WatchKind): Promise<readonly string[]> {
    let query = this.db.selectFrom('watchedWallet').select('address').orderBy('address').limit(limit);
    if (after !== null) query = query.where('address', '>', after);
    if (kind !== undefined) query = query.where('kind', '=', kind);
    return (await query.execute()).map(({ address }) => address);
  }

  /** Wallets added after `version`. Throws Unavailable if this database never had that version. */
  async changesSince(version: bigint): Promise<WatchDifference> {
    const newest = await this.version();
    if (!(await isKnown(this.db, version))) {
      const message = `the watch set in the database is at version ${newest} and never had version ${version}: load the whole set again`;
      throw new DomainError('Unavailable', message, { version: newest.toString() });
    }
    const wallets = await this.db
      .selectFrom('watchedWallet')
      .select(['address', 'kind'])
      .where('version', '>', version)
      .where('version', '<=', newest)
      .execute();
    return { version: newest, wallets };
  }

  /** Kinds of the watched wallets among `addresses`. */
  async watchKindsOf(addresses: readonly string[]): Promise<ReadonlyMap<string, WatchKind>> {
    const rows = await this.db
      .selectFrom('watchedWallet')
      .select(['address', 'kind'])
      .where('address', '=', anyOf(addresses))
      .execute();
    return new Map(rows.map(({ address, kind }) => [address, kind]));
  }

  /**
   * Runs `work` while no wallet can be added. PostgreSQL may cancel the lock's transaction when it takes too long, so
   * commits in `work` must still compare versions.
   */
  async holdVersion<T>(work: () => Promise<T>): Promise<T> {
    return this.db.transaction().execute(async (trx) => {
      await lockVersion(trx);
      return work();
    });
  }

  /** Adds hot wallets. Throws InvalidRequest if an address is watched as a deposit address: a key has only one use. */
  async addHot(addresses: readonly string[]): Promise<void> {
    await this.db.transaction().execute((trx) => watch(trx, addresses, 'hot'));
  }
}

/**
 * Adds wallets to the watch set. Commits of blocks and this transaction lock the row of the version: blocks committed
 * first are matched without the wallets, later blocks with them. Throws InvalidRequest for a wallet of another kind.
 */
export async function watch(trx: Trx, addresses: readonly string[], kind: WatchKind): Promise<void> {
  const { version } = await trx
    .selectFrom('watchVersion')
    .select('version')
    .forUpdate()
    .executeTakeFirstOrThrow();
  const next = version + 1n + BigInt(randomInt(MAX_VERSION_STEP));
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('watchedWallet')
    .columns(['address', 'kind', 'version', 'watchedAfter'])
    .expression(
      trx
        .selectFrom(sql<{ address: string }>`unnest(${addresses}::text[])`.as<'input'>(sql`input(address)`))
        .select(['input.address', sql<WatchKind>`${kind}`.as('kind')])
        .select([sql<bigint>`${next}::bigint`.as('version'), LAST_SCANNED_SLOT.as('watchedAfter')]),
    )
    .onConflict((conflict) => conflict.column('address').doNothing())
    .executeTakeFirstOrThrow();
  await assertKind(trx, addresses, kind);
  if (numInsertedOrUpdatedRows === 0n) return;
  await trx.updateTable('watchVersion').set({ version: next }).execute();
}

// The version grows by a random step of up to this size, so that the versions before and after a restore are equal with
// a probability of about 1 in 2^40. A bigint holds about ten million such steps.
const MAX_VERSION_STEP = 2 ** 40;

// Includes staged ranges: their blocks are already matched, although the cursor has not reached them.
const LAST_SCANNED_SLOT = sql<bigint | null>`greatest(
  (select slot from scan_cursor), (select max(to_slot) from staged_range))`;

async function assertKind(trx: Trx, addresses: readonly string[], kind: WatchKind): Promise<void> {
  const conflicting = await trx
    .selectFrom('watchedWallet')
    .select(['address', 'kind'])
    .where('address', '=', anyOf(addresses))
    .where('kind', '<>', kind)
    .executeTakeFirst();
  if (conflicting === undefined) return;
  const message = `${conflicting.address} is already watched as a ${conflicting.kind} wallet and cannot also be a ${kind} wallet`;
  throw new DomainError('InvalidRequest', message, { address: conflicting.address, kind: conflicting.kind });
}

/** True if this database ever had this version: every version except 0 has added a wallet. */
async function isKnown(db: Database, version: bigint): Promise<boolean> {
  if (version === 0n) return true;
  return exists(db.selectFrom('watchedWallet').select('version').where('version', '=', version).limit(1));
}

/** Returns null if `version` is the newest version, and locks the version until the transaction ends. */
export async function staleWatchSet(trx: Trx, version: bigint): Promise<StaleWatchSet | null> {
  if ((await lockVersion(trx)) === version) return null;
  return (await isKnown(trx, version)) ? 'watch_set_changed' : 'unknown_version';
}

async function lockVersion(trx: Trx): Promise<bigint> {
  const row = await trx.selectFrom('watchVersion').select('version').forShare().executeTakeFirstOrThrow();
  return row.version;
}
