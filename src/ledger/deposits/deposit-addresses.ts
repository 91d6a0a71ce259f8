import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { isUniqueViolation } from '../connection.ts';
import { anyOf, COUNT, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import { refuseIfRowsMayBeLost } from '../operations/restore-detection.ts';
import { requestAudits } from '../scan/import-audits.ts';
import { watch } from '../scan/watched.ts';
import { IS_USER_CERTAIN } from './addresses-after-restore.ts';
import { type DepositAddressRow, depositAddressRows } from './deposit-address-row.ts';
import { NEWEST_FINAL_SLOT } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

/** An address whose key was generated offline, and the derivation path of the key. */
export type NewAddress = Pick<RowOf<'depositAddress'>, 'address' | 'path'>;

/** `tip`: newest slot that a quorum reports, for an import with `since`. */
export interface ImportOptions {
  readonly tip?: bigint | null;
}

const ADDRESSES_PER_TRANSACTION = 5_000;
const UNASSIGNED_STATES = ['auditing', 'free'] as const;
/**
 * With `bool_or` the planner reads only the address's deposits; with `not exists` it compares each address with all
 * pending deposits.
 */
const IS_ASSIGNABLE = sql<boolean>`(deposit_address.state = 'free' and ${IS_USER_CERTAIN} and (
  select bool_or(deposit.state = 'pending') from deposit where deposit.wallet = deposit_address.address) is not true)`;

/** The pool of deposit addresses. An address is watched from its import on, and never gets a second user. */
export class DepositAddresses extends Repository {
  /**
   * Imports addresses in transactions of a few thousand. Idempotent. `since` is the first slot in which the addresses
   * can have been paid: they cannot be assigned before an audit has read from that slot and the scan has reached
   * `tip`. A known address whose audit began at a later slot is audited again. Throws InvalidRequest for a wallet
   * that Sluice pays from, and for a known address with a different path.
   */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null = null,
    options: ImportOptions = {},
  ): Promise<{ imported: number; known: number }> {
    for (let at = 0; at < entries.length; at += ADDRESSES_PER_TRANSACTION)
      await refuseOtherPath(this.db, entries.slice(at, at + ADDRESSES_PER_TRANSACTION));
    let imported = 0;
    for (let at = 0; at < entries.length; at += ADDRESSES_PER_TRANSACTION) {
      const part = entries.slice(at, at + ADDRESSES_PER_TRANSACTION);
      imported += await this.db.transaction().execute((trx) => importPart(trx, part, since, options));
    }
    return { imported, known: entries.length - imported };
  }

  /**
   * Returns the user's address, or assigns a free one. Earlier deposits to that address belong to no user. Throws
   * NoFreeAddress; DatabaseIncomplete after a restore; Unavailable before the scan has begun, because earlier blocks are
   * not searched.
   */
  async assign(userRef: string): Promise<DepositAddressRow> {
    const known = await this.byUser(userRef);
    if (known !== undefined) return known;
    const address = await this.#assignFree(userRef);
    const row = address === undefined ? await this.byUser(userRef) : await this.byAddress(address);
    if (row !== undefined) return row;
    const message =
      'no deposit address is free: import more, or wait until the audits of imported addresses end';
    throw new DomainError('NoFreeAddress', message, { userRef });
  }

  /** Returns undefined if no address is free, or if a concurrent call has just assigned one to this user. */
  async #assignFree(userRef: string): Promise<string | undefined> {
    try {
      for (;;) {
        // Wait for a locked address only if no unlocked one is free: the transaction that holds the lock may leave
        // the address free.
        const assigned =
          (await this.#assignTo(userRef, lockUnlocked)) ?? (await this.#assignTo(userRef, waitForLock));
        if (assigned !== undefined || (await this.freeCount(1)) === 0) return assigned;
      }
    } catch (error) {
      if (isUniqueViolation(error, 'deposit_address_user_unique')) return undefined;
      throw error;
    }
  }

  /**
   * Assigns the address that `choose` locks. Returns undefined if `choose` finds none, or if the address is no longer
   * free.
   */
  async #assignTo(userRef: string, choose: AddressChoice): Promise<string | undefined> {
    return this.db.transaction().execute(async (trx) => {
      await refuseUnscanned(trx);
      await refuseIfRowsMayBeLost(trx);
      const address = await choose(trx);
      if (address === undefined) return undefined;
      // Check again in a new statement: under READ COMMITTED, it sees all commits from before the row lock was
      // granted. Later writers wait for that lock.
      const assigned = await trx
        .updateTable('depositAddress')
        .set({ state: 'assigned', userRef, assignedAt: sql<Date>`now()`, assignedAfter: NEWEST_FINAL_SLOT })
        .where('address', '=', address)
        .where(IS_ASSIGNABLE)
        .returning('address')
        .executeTakeFirst();
      return assigned?.address;
    });
  }

  async byAddress(address: string): Promise<DepositAddressRow | undefined> {
    return depositAddressRows(this.db).where('depositAddress.address', '=', address).executeTakeFirst();
  }

  async byUser(userRef: string): Promise<DepositAddressRow | undefined> {
    return depositAddressRows(this.db).where('userRef', '=', userRef).executeTakeFirst();
  }

  async isEmpty(): Promise<boolean> {
    return !(await exists(
      this.db.selectFrom('depositAddress').select('position').orderBy('position').limit(1),
    ));
  }

  /** Number of assignable addresses, counted up to `limit`. */
  async freeCount(limit = Number.MAX_SAFE_INTEGER): Promise<number> {
    // Ordered like the index of free addresses, so that the planner stops at the limit instead of reading every
    // address.
    const free = this.db
      .selectFrom('depositAddress')
      .select('position')
      .where(IS_ASSIGNABLE)
      .orderBy('position')
      .limit(limit);
    const row = await this.db.selectFrom(free.as('free')).select(COUNT.as('free')).executeTakeFirstOrThrow();
    return row.free;
  }
}

/**
 * Throws Unavailable before the first scan, because earlier blocks are never searched. Takes no lock, so that the
 * cursor of the scan is not delayed.
 */
async function refuseUnscanned(trx: Trx): Promise<void> {
  if (await exists(trx.selectFrom('scanCursor').select('slot'))) return;
  const message =
    'no address can be assigned before the scan has read its first block: an earlier payment would be missed. Start the scan, then retry';
  throw new DomainError('Unavailable', message);
}

/** Locks the row of an address that appears to be free. */
type AddressChoice = (trx: Trx) => Promise<string | undefined>;

const lockUnlocked: AddressChoice = async (trx) => {
  const free = await firstFree(trx).forUpdate().skipLocked().executeTakeFirst();
  return free?.address;
};

/**
 * Waits for the lock of one row while this transaction holds no other: transactions that record deposits lock many
 * rows, in a different order. The row is chosen without a lock. A statement that selects and locks would continue
 * with the next row, and keep locks that it does not need.
 */
const waitForLock: AddressChoice = async (trx) => {
  const free = await firstFree(trx).executeTakeFirst();
  if (free === undefined) return undefined;
  await lockUnassigned(trx, [free.address]);
  return free.address;
};

function firstFree(trx: Trx) {
  return trx.selectFrom('depositAddress').select('address').where(IS_ASSIGNABLE).orderBy('position').limit(1);
}

/**
 * Prevents the assignment of these wallets until the transaction ends. Writers of pending deposits take this lock
 * first. After their commit, the pending deposit itself prevents the assignment until it ends.
 */
export async function lockUnassigned(trx: Trx, wallets: readonly string[]): Promise<void> {
  await trx
    .selectFrom('depositAddress')
    .select('address')
    .where('address', '=', anyOf(wallets))
    .where('state', 'in', UNASSIGNED_STATES)
    .orderBy('address')
    .forUpdate()
    .execute();
}

/**
 * Marks an unassigned address as used: with an earlier confirmed deposit it must never be assigned. A due audit stays
 * due.
 */
export async function markUsed(trx: Trx, wallet: string): Promise<void> {
  await trx
    .updateTable('depositAddress')
    .set({ state: 'used' })
    .where('address', '=', wallet)
    .where('state', 'in', UNASSIGNED_STATES)
    .execute();
}

async function importPart(
  trx: Trx,
  entries: readonly NewAddress[],
  since: bigint | null,
  { tip = null }: ImportOptions,
): Promise<number> {
  const addresses = entries.map(({ address }) => address);
  await watch(trx, addresses, 'deposit');
  const state = since === null ? 'free' : 'auditing';
  const columns = ['address', 'path', 'state', 'since', 'auditDue'] as const;
  const auditDue = since !== null;
  const rows = entries.map(({ address, path }) => ({ address, path, state, since, auditDue }) as const);
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('depositAddress')
    .columns(columns)
    .expression(trx.selectFrom(inputRows('depositAddress', rows)).select(columns))
    .onConflict((conflict) => conflict.column('address').doNothing())
    .executeTakeFirstOrThrow();
  if (since !== null) await requestAudits(trx, addresses, since, tip);
  // Check again: a concurrent import, or an earlier entry for the same address, may have stored a different path.
  await refuseOtherPath(trx, entries);
  return Number(numInsertedOrUpdatedRows);
}

/**
 * Throws InvalidRequest for a known address with a different path: the signer would derive the wrong key, and the
 * funds at the address could not be moved.
 */
async function refuseOtherPath(db: Database, entries: readonly NewAddress[]): Promise<void> {
  const rows = await db
    .selectFrom('depositAddress')
    .select(['address', 'path'])
    .where('address', '=', anyOf(entries.map(({ address }) => address)))
    .execute();
  const paths = new Map(rows.map(({ address, path }) => [address, path]));
  const conflict = entries.find(({ address, path }) => (paths.get(address) ?? path) !== path);
  if (conflict === undefined) return;
  const { address, path } = conflict;
  const message = `deposit address ${address} is stored with path ${paths.get(address)}, not ${path}`;
  throw new DomainError('InvalidRequest', message, { field: 'path', address });
}
