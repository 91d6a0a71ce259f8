import { sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { violates } from '../connection.ts';
import { anyOf, type Database, type Tables } from '../database.ts';
import { refuseInDoubt } from '../operations/restore-detection.ts';
import { auditSince } from '../scan/import-audits.ts';
import { watch } from '../scan/watched.ts';
import { IS_SURE, releaseDoubtful } from './addresses-after-restore.ts';
import { type DepositAddressRow, depositAddressRows } from './deposit-address-row.ts';
import { givenRows } from './given-rows.ts';
import { NEWEST_FINAL } from './ownership.ts';

/** A public key made offline, and the derivation path that it was made with. */
export interface NewAddress {
  readonly address: string;
  readonly path: string;
}

/** Where the chain was at an import with `since`, by a quorum; and whether the new ones are given to nobody. */
export interface ImportOptions {
  readonly tip?: bigint | null;
  readonly keptBack?: boolean;
}

const IMPORTED_AT_ONCE = 5_000;
const UNASSIGNED = ['auditing', 'free', 'doubtful'] as const;
/**
 * Free, not in doubt after a restore, and without a pending deposit. `bool_or` makes the planner read the deposits of each address:
 * for `not exists` it compares each address with all pending deposits.
 */
const ASSIGNABLE = sql<boolean>`(deposit_address.state = 'free' and ${IS_SURE} and (
  select bool_or(deposit.state = 'pending') from deposit where deposit.wallet = deposit_address.address) is not true)`;

/** The pool of deposit addresses. An address is watched from its import on, and belongs to at most one user for ever. */
export class DepositAddresses {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Takes addresses in, some thousand in one transaction each; may be repeated. Those with `since` may have been paid from that slot
   * on and cannot be assigned before that is audited, and the scan has come to `tip`; a known one that is not audited from so early is
   * audited again, and goes back to that where nobody has it. New ones that are `keptBack` are watched and given to nobody, as a user may have them: see {@link
   * release}. Throws InvalidRequest for a wallet that we pay from, and for a known address under another path than the one on record.
   */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null = null,
    options: ImportOptions = {},
  ): Promise<{ imported: number; known: number }> {
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE)
      await refuseOtherPath(this.#db, entries.slice(at, at + IMPORTED_AT_ONCE));
    let imported = 0;
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE) {
      const part = entries.slice(at, at + IMPORTED_AT_ONCE);
      imported += await this.#db.transaction().execute((trx) => importPart(trx, part, since, options));
    }
    return { imported, known: entries.length - imported };
  }

  /**
   * The address of this user, a free one where the user has none: what came to it before is nobody's. Throws NoFreeAddress; Unavailable
   * before the scan has begun, as what is paid in blocks before its first one is not looked for; RecordInDoubt in a restored record.
   */
  async assign(userRef: string): Promise<DepositAddressRow> {
    const known = await this.byUser(userRef);
    if (known !== undefined) return known;
    const address = await this.#take(userRef);
    const row = address === undefined ? await this.byUser(userRef) : await this.byAddress(address);
    if (row !== undefined) return row;
    const message =
      'no deposit address is free: import more, or wait for those that are audited; after a restore, release those in doubt';
    throw new DomainError('NoFreeAddress', message, { userRef });
  }

  /** Undefined where none is free, or another call has just given one to this user. */
  async #take(userRef: string): Promise<string | undefined> {
    try {
      for (;;) {
        // Those that others are about to get are waited for where there is none besides: they may not get them.
        const taken = (await this.#give(userRef, unheld)) ?? (await this.#give(userRef, awaited));
        if (taken !== undefined || (await this.freeCount(1)) === 0) return taken;
      }
    } catch (error) {
      if (violates(error, 'deposit_address_user_unique')) return undefined;
      throw error;
    }
  }

  /** Undefined where none is chosen, or that one is no longer free. Its row is held no longer than that takes. */
  async #give(userRef: string, choose: Choice): Promise<string | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      await refuseUnscanned(trx);
      await refuseInDoubt(trx);
      const address = await choose(trx);
      if (address === undefined) return undefined;
      // What was committed before the row was locked is seen by a new statement alone; what is not waits for the lock.
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
    return depositAddressRows(this.#db).where('depositAddress.address', '=', address).executeTakeFirst();
  }

  async byUser(userRef: string): Promise<DepositAddressRow | undefined> {
    return depositAddressRows(this.#db).where('userRef', '=', userRef).executeTakeFirst();
  }

  /** True until the first import. */
  async isEmpty(): Promise<boolean> {
    const any = await this.#db
      .selectFrom('depositAddress')
      .select('position')
      .orderBy('position')
      .limit(1)
      .executeTakeFirst();
    return any === undefined;
  }

  /** How many can be assigned; no more than `atMost` are counted. */
  async freeCount(atMost = Number.MAX_SAFE_INTEGER): Promise<number> {
    // In the order of the index of free ones: a plan without an order may read all of them before it counts a few.
    const free = this.#db
      .selectFrom('depositAddress')
      .select('position')
      .where(ASSIGNABLE)
      .orderBy('position')
      .limit(atMost);
    const row = await this.#db
      .selectFrom(free.as('free'))
      .select((one) => one.fn.countAll<bigint>().as('free'))
      .executeTakeFirstOrThrow();
    return Number(row.free);
  }

  /** An operator knows that no user has what is kept back since the record was restored, and says why; see {@link releaseDoubtful}. */
  async release(actor: string, reason: string): Promise<number> {
    return releaseDoubtful(this.#db, actor, reason);
  }
}

/** Before the first block nobody would look for what is paid. Without a lock: many who ask would keep the scan from its cursor. */
async function refuseUnscanned(trx: Transaction<Tables>): Promise<void> {
  const cursor = await trx.selectFrom('scanCursor').select('slot').executeTakeFirst();
  if (cursor !== undefined) return;
  const message = 'the scan of blocks has not begun: what is paid to an address now would never be seen';
  throw new DomainError('Unavailable', message);
}

/** Locks the row of an address that looks free. */
type Choice = (trx: Transaction<Tables>) => Promise<string | undefined>;

const unheld: Choice = async (trx) => {
  const free = await firstFree(trx).forUpdate().skipLocked().executeTakeFirst();
  return free?.address;
};

/**
 * Waits for this one alone, and holds no other meanwhile: whoever records what came holds many, in another order. One statement that
 * chooses and waits would go on to the next, and keep those that it could not use.
 */
const awaited: Choice = async (trx) => {
  const free = await firstFree(trx).executeTakeFirst();
  if (free === undefined) return undefined;
  await holdUnassigned(trx, [free.address]);
  return free.address;
};

function firstFree(trx: Transaction<Tables>) {
  return trx.selectFrom('depositAddress').select('address').where(ASSIGNABLE).orderBy('position').limit(1);
}

/**
 * Keeps these wallets from being assigned until the transaction ends. Whoever adds something pending to them does it under this lock:
 * from its commit on that keeps them, until it is dropped or judged.
 */
export async function holdUnassigned(trx: Transaction<Tables>, wallets: readonly string[]): Promise<void> {
  await trx
    .selectFrom('depositAddress')
    .select('address')
    .where('address', '=', anyOf(wallets))
    .where('state', 'in', UNASSIGNED)
    .orderBy('address')
    .forUpdate()
    .execute();
}

/** Whatever a quorum shows to have come to a wallet before it is assigned keeps it from ever being given out; an audit of it goes on. */
export async function markUsed(trx: Transaction<Tables>, wallet: string): Promise<void> {
  await trx
    .updateTable('depositAddress')
    .set({ state: 'used' })
    .where('address', '=', wallet)
    .where('state', 'in', UNASSIGNED)
    .execute();
}

async function importPart(
  trx: Transaction<Tables>,
  entries: readonly NewAddress[],
  since: bigint | null,
  { tip = null, keptBack = false }: ImportOptions,
): Promise<number> {
  const addresses = entries.map(({ address }) => address);
  await watch(trx, addresses, 'deposit');
  const state = keptBack ? 'doubtful' : since === null ? 'free' : 'auditing';
  const columns = ['address', 'path', 'state', 'since', 'auditDue'] as const;
  const auditDue = since !== null;
  const rows = entries.map(({ address, path }) => ({ address, path, state, since, auditDue }) as const);
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('depositAddress')
    .columns(columns)
    .expression(trx.selectFrom(givenRows('depositAddress', rows)).select(columns))
    .onConflict((conflict) => conflict.column('address').doNothing())
    .executeTakeFirstOrThrow();
  if (since !== null) await auditSince(trx, addresses, since, tip);
  // What another import has brought in meanwhile, or these entries name twice, is on record by now.
  await refuseOtherPath(trx, entries);
  return Number(numInsertedOrUpdatedRows);
}

/** Under another path its keys would be looked for where they are not: what it holds could not be moved. */
async function refuseOtherPath(db: Database, entries: readonly NewAddress[]): Promise<void> {
  const rows = await db
    .selectFrom('depositAddress')
    .select(['address', 'path'])
    .where('address', '=', anyOf(entries.map(({ address }) => address)))
    .execute();
  const known = new Map(rows.map(({ address, path }) => [address, path]));
  const other = entries.find(({ address, path }) => (known.get(address) ?? path) !== path);
  if (other === undefined) return;
  const { address, path } = other;
  const message = `path: ${address} is on record under ${known.get(address)}, not under ${path}`;
  throw new DomainError('InvalidRequest', message, { field: 'path', address });
}
