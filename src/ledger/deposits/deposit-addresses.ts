import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { isUniqueViolation } from '../connection.ts';
import { anyOf, COUNT, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import { refuseIfRowsMayBeLost } from '../operations/restore-detection.ts';
import { requestAudits } from '../scan/import-audits.ts';
import { watch } from '../scan/watched.ts';
import { IS_SURE } from './addresses-after-restore.ts';
import { type DepositAddressRow, depositAddressRows } from './deposit-address-row.ts';
import { NEWEST_FINAL } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

/** A public key that was made offline, and its derivation path. */
export type NewAddress = Pick<RowOf<'depositAddress'>, 'address' | 'path'>;

/** `tip`: a quorum's newest slot, for an import with `since`. */
export interface ImportOptions {
  readonly tip?: bigint | null;
}

const IMPORTED_AT_ONCE = 5_000;
const UNASSIGNED = ['auditing', 'free'] as const;
/**
 * `bool_or` makes the planner read the deposits of each address; for `not exists` it compares each address with all
 * pending deposits.
 */
const ASSIGNABLE = sql<boolean>`(deposit_address.state = 'free' and ${IS_SURE} and (
  select bool_or(deposit.state = 'pending') from deposit where deposit.wallet = deposit_address.address) is not true)`;

/** The pool of deposit addresses. An address is watched from its import on; it never has a second user. */
export class DepositAddresses extends Repository {
  /**
   * Imports addresses, some thousand in each transaction. Idempotent. Addresses with `since` may have been paid from
   * that slot on: they cannot be assigned before an audit, nor before the scan has reached `tip`. A known
   * address that was not audited from so early becomes due again. Throws InvalidRequest for a wallet
   * that we pay from, and for a known address with another path.
   */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null = null,
    options: ImportOptions = {},
  ): Promise<{ imported: number; known: number }> {
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE)
      await refuseOtherPath(this.db, entries.slice(at, at + IMPORTED_AT_ONCE));
    let imported = 0;
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE) {
      const part = entries.slice(at, at + IMPORTED_AT_ONCE);
      imported += await this.db.transaction().execute((trx) => importPart(trx, part, since, options));
    }
    return { imported, known: entries.length - imported };
  }

  /**
   * Returns the user's address, or a free one, whose earlier deposits belong to no user. Throws NoFreeAddress;
   * RecordInDoubt after a restore; Unavailable before the scan has begun, because earlier blocks are not searched.
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

  /** Undefined if none is free, or if a concurrent call has just assigned one to this user. */
  async #assignFree(userRef: string): Promise<string | undefined> {
    try {
      for (;;) {
        // Waits for locked addresses only if there are no others: their transactions may leave them free.
        const taken = (await this.#assignTo(userRef, unlocked)) ?? (await this.#assignTo(userRef, afterLock));
        if (taken !== undefined || (await this.freeCount(1)) === 0) return taken;
      }
    } catch (error) {
      if (isUniqueViolation(error, 'deposit_address_user_unique')) return undefined;
      throw error;
    }
  }

  /** Undefined if none is chosen, or if it is no longer free. The row is locked for this transaction only. */
  async #assignTo(userRef: string, choose: Choice): Promise<string | undefined> {
    return this.db.transaction().execute(async (trx) => {
      await refuseUnscanned(trx);
      await refuseIfRowsMayBeLost(trx);
      const address = await choose(trx);
      if (address === undefined) return undefined;
      // Only a new statement sees commits from before the lock; later writers wait for the lock.
      const taken = await trx
        .updateTable('depositAddress')
        .set({ state: 'assigned', userRef, assignedAt: sql<Date>`now()`, assignedAfter: NEWEST_FINAL })
        .where('address', '=', address)
        .where(ASSIGNABLE)
        .returning('address')
        .executeTakeFirst();
      return taken?.address;
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

  /** Number of assignable addresses, counted up to `atMost`. */
  async freeCount(atMost = Number.MAX_SAFE_INTEGER): Promise<number> {
    // In the order of the index of free addresses: a plan without an order may read all before it counts a few.
    const free = this.db
      .selectFrom('depositAddress')
      .select('position')
      .where(ASSIGNABLE)
      .orderBy('position')
      .limit(atMost);
    const row = await this.db.selectFrom(free.as('free')).select(COUNT.as('free')).executeTakeFirstOrThrow();
    return row.free;
  }
}

/** No block before the first scanned one is searched. Takes no lock, which would delay the scan's cursor. */
async function refuseUnscanned(trx: Trx): Promise<void> {
  if (await exists(trx.selectFrom('scanCursor').select('slot'))) return;
  const message =
    'the scan has not read its first block: it would miss a payment to an address now. Start the scan, then retry';
  throw new DomainError('Unavailable', message);
}

/** Locks the row of an address that appears to be free. */
type Choice = (trx: Trx) => Promise<string | undefined>;

const unlocked: Choice = async (trx) => {
  const free = await firstFree(trx).forUpdate().skipLocked().executeTakeFirst();
  return free?.address;
};

/**
 * Waits for one row without holding another: transactions that record deposits lock many, in another order. A
 * statement that selects and waits would continue with the next row, and keep locks that it cannot use.
 */
const afterLock: Choice = async (trx) => {
  const free = await firstFree(trx).executeTakeFirst();
  if (free === undefined) return undefined;
  await holdUnassigned(trx, [free.address]);
  return free.address;
};

function firstFree(trx: Trx) {
  return trx.selectFrom('depositAddress').select('address').where(ASSIGNABLE).orderBy('position').limit(1);
}

/**
 * Keeps these wallets from being assigned. Writers of pending deposits take this lock first; after their commit, the
 * pending deposit itself prevents the assignment until it ends.
 */
export async function holdUnassigned(trx: Trx, wallets: readonly string[]): Promise<void> {
  await trx
    .selectFrom('depositAddress')
    .select('address')
    .where('address', '=', anyOf(wallets))
    .where('state', 'in', UNASSIGNED)
    .orderBy('address')
    .forUpdate()
    .execute();
}

/** An address with a confirmed deposit before its assignment is never assigned. A due audit stays due. */
export async function markUsed(trx: Trx, wallet: string): Promise<void> {
  await trx
    .updateTable('depositAddress')
    .set({ state: 'used' })
    .where('address', '=', wallet)
    .where('state', 'in', UNASSIGNED)
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
  // A concurrent import, or a second entry for the same address, has inserted its row by now.
  await refuseOtherPath(trx, entries);
  return Number(numInsertedOrUpdatedRows);
}

/** With another path the signer would look for the wrong key, and the funds at the address could not be moved. */
async function refuseOtherPath(db: Database, entries: readonly NewAddress[]): Promise<void> {
  const rows = await db
    .selectFrom('depositAddress')
    .select(['address', 'path'])
    .where('address', '=', anyOf(entries.map(({ address }) => address)))
    .execute();
  const paths = new Map(rows.map(({ address, path }) => [address, path]));
  const other = entries.find(({ address, path }) => (paths.get(address) ?? path) !== path);
  if (other === undefined) return;
  const { address, path } = other;
  const message = `path: ${address} is stored with path ${paths.get(address)}, not ${path}`;
  throw new DomainError('InvalidRequest', message, { field: 'path', address });
}
