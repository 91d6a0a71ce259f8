import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { WatchKind } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { streamQuery } from '../connection.ts';
import { anyOf, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';

export type WatchedWallet = Pick<RowOf<'watchedWallet'>, 'address' | 'kind'>;

/** Wallets that were added to the watch set after some version, up to `version`. */
export interface WatchDifference {
  readonly version: bigint;
  readonly wallets: readonly WatchedWallet[];
}

/** Findings with the watch set of `watchVersion`. */
export interface MatchedBlocks<Found> {
  readonly blocks: readonly Found[];
  readonly watchVersion: bigint;
}

/**
 * Why findings cannot be committed. `watch_set_changed`: wallets were added since: match the blocks again with
 * {@link WatchedWallets.changesSince}. `unknown_version`: this database never had the version, so it was restored: load the watch
 * set again.
 */
export type StaleWatchSet = 'watch_set_changed' | 'unknown_version';

/**
 * All watched wallets, each with the version that added it; none is ever removed. A copy in memory of version v and
 * the rows above v are the whole set. Versions grow by random steps, so that a version from before a restore never
 * matches one made after it.
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

  /** Every address, in one query. Read {@link version} first: later wallets are {@link changesSince} that version. */
  async *stream(): AsyncGenerator<string> {
    for await (const rows of streamQuery<[string]>(this.#databaseUrl, 'select address from watched_wallet'))
      for (const [address] of rows) yield address;
  }

  /** Addresses in their order, after `after`; of one kind, or of all. */
  async page(after: string | null, limit: number, kind?: WatchKind): Promise<readonly string[]> {
    let query = this.db.selectFrom('watchedWallet').select('address').orderBy('address').limit(limit);
    if (after !== null) query = query.where('address', '>', after);
    if (kind !== undefined) query = query.where('kind', '=', kind);
    return (await query.execute()).map(({ address }) => address);
  }

  /** Throws Unavailable for a version that this database never had: load the whole set again. */
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

  async watchKindsOf(addresses: readonly string[]): Promise<ReadonlyMap<string, WatchKind>> {
    const rows = await this.db
      .selectFrom('watchedWallet')
      .select(['address', 'kind'])
      .where('address', '=', anyOf(addresses))
      .execute();
    return new Map(rows.map(({ address, kind }) => [address, kind]));
  }

  /**
   * Runs `work` while no wallet is added. PostgreSQL ends a hold that takes too long, so a commit still
   * compares versions.
   */
  async holdVersion<T>(work: () => Promise<T>): Promise<T> {
    return this.db.transaction().execute(async (trx) => {
      await lockVersion(trx);
      return work();
    });
  }

  /** Adds wallets that we pay from. Throws InvalidRequest for a deposit address: a key has one use. */
  async addHot(addresses: readonly string[]): Promise<void> {
    await this.db.transaction().execute((trx) => watch(trx, addresses, 'hot'));
  }
}

/**
 * Adds wallets. Blocks committed before that are matched without them, later blocks with them: both transactions
 * wait for each other at the version's row. Throws InvalidRequest for a wallet that is watched as another kind.
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

// Two histories split by a restore reach one number once in this many steps. 63 bits hold ten million steps.
const MAX_VERSION_STEP = 2 ** 40;

// Staged blocks are matched already, although the cursor is not there yet.
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

/** True if this database ever had this version: every version but the first has added wallets. */
async function isKnown(db: Database, version: bigint): Promise<boolean> {
  if (version === 0n) return true;
  return exists(db.selectFrom('watchedWallet').select('version').where('version', '=', version).limit(1));
}

/** Null if `version` is the newest one, which stays so until the transaction ends. */
export async function staleWatchSet(trx: Trx, version: bigint): Promise<StaleWatchSet | null> {
  if ((await lockVersion(trx)) === version) return null;
  return (await isKnown(trx, version)) ? 'watch_set_changed' : 'unknown_version';
}

async function lockVersion(trx: Trx): Promise<bigint> {
  const row = await trx.selectFrom('watchVersion').select('version').forShare().executeTakeFirstOrThrow();
  return row.version;
}
