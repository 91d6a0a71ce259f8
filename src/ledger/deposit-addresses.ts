import { type Selectable, sql, type Transaction } from 'kysely';
import type { DepositAddressState } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import { anyOf, type Database, type Tables, violates } from './database.ts';
import { isRecord, refuseInDoubt } from './doubt.ts';
import { IS_SURE, releaseDoubtful, STATE } from './doubtful-addresses.ts';
import { givenRows } from './given-rows.ts';
import { nextLook } from './next-look.ts';
import { ASSIGNED_NOW } from './ownership.ts';
import { watch } from './watched.ts';

/** A wallet made for users' deposits; `since` and `watchedAfter` are slots: what was before is to be audited in between. */
export type DepositAddressRow = Readonly<Selectable<Tables['depositAddress']>> & {
  readonly watchedAfter: bigint | null;
};

/** A public key made offline, and the derivation path that it was made with. */
export interface NewAddress {
  readonly address: string;
  readonly path: string;
}

const IMPORTED_AT_ONCE = 5_000;
const SHOWN = [
  'depositAddress.address',
  'position',
  'path',
  'userRef',
  'since',
  'auditDue',
  'auditTriedAt',
  'unreadSince',
  'auditAfter',
  'createdAt',
  'assignedAt',
  'assignedAfter',
  'watchedAfter',
] as const;
const NEVER_UNREAD = { unreadSince: null, auditAfter: null } as const;
const UNASSIGNED = ['auditing', 'free', 'doubtful'] as const;
/** Nobody has it, or may have it by a record that was lost, and nothing that may have come to it waits to be judged. */
const ASSIGNABLE = sql<boolean>`(deposit_address.state = 'free' and ${IS_SURE} and not exists (
  select from deposit where deposit.wallet = deposit_address.address and deposit.state = 'pending'))`;

/** The pool of deposit addresses. An address is watched from its import on, and belongs to at most one user for ever. */
export class DepositAddresses {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Takes addresses in, some thousand in one transaction each; may be repeated. Those with `since` may have been paid from that slot
   * on and cannot be assigned before {@link markAudited}; a known one that is not audited from so early is audited again, and goes back
   * to that where nobody has it. New ones that are `keptBack` are watched and given to nobody, as a user may have them: see {@link
   * release}. Throws InvalidRequest for a wallet that we pay from, and for a known address under another path than the one on record.
   */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null = null,
    { keptBack = false } = {},
  ): Promise<{ imported: number; known: number }> {
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE)
      await refuseOtherPath(this.#db, entries.slice(at, at + IMPORTED_AT_ONCE));
    let imported = 0;
    for (let at = 0; at < entries.length; at += IMPORTED_AT_ONCE) {
      const part = entries.slice(at, at + IMPORTED_AT_ONCE);
      imported += await this.#db.transaction().execute((trx) => importPart(trx, part, since, keptBack));
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
    const message = 'no deposit address is free: import more, or release those that are in doubt';
    throw new DomainError('NoFreeAddress', message, { userRef });
  }

  /** Undefined where none is free, or another call has just given one to this user. */
  async #take(userRef: string): Promise<string | undefined> {
    try {
      return await this.#db.transaction().execute(async (trx) => {
        await refuseUnscanned(trx);
        await refuseInDoubt(trx);
        return await takeFree(trx, userRef);
      });
    } catch (error) {
      if (violates(error, 'deposit_address_user_unique')) return undefined;
      throw error;
    }
  }

  async byAddress(address: string): Promise<DepositAddressRow | undefined> {
    return this.#rows().where('depositAddress.address', '=', address).executeTakeFirst();
  }

  async byUser(userRef: string): Promise<DepositAddressRow | undefined> {
    return this.#rows().where('userRef', '=', userRef).executeTakeFirst();
  }

  /** True until the first import. */
  async isEmpty(): Promise<boolean> {
    const any = await this.#db.selectFrom('depositAddress').select('position').limit(1).executeTakeFirst();
    return any === undefined;
  }

  /** How many can be assigned; no more than `atMost` are counted. */
  async freeCount(atMost = Number.MAX_SAFE_INTEGER): Promise<number> {
    const free = this.#db.selectFrom('depositAddress').select('position').where(ASSIGNABLE).limit(atMost);
    const row = await this.#db
      .selectFrom(free.as('free'))
      .select((one) => one.fn.countAll<bigint>().as('free'))
      .executeTakeFirstOrThrow();
    return Number(row.free);
  }

  /**
   * Those whose time before they were watched is to be audited now: first those that nobody has tried, then those tried the longest ago.
   */
  async toAudit(limit: number): Promise<readonly DepositAddressRow[]> {
    return this.#rows()
      .where('auditDue', '=', true)
      .where(sql<boolean>`coalesce(audit_after <= now(), true)`)
      .orderBy('auditTriedAt', (tried) => tried.asc().nullsFirst())
      .orderBy('position')
      .limit(limit)
      .execute();
  }

  /** The audits of these have been started: others come first in the next round. */
  async noteTried(addresses: readonly string[]): Promise<void> {
    await this.#db
      .updateTable('depositAddress')
      .set({ auditTriedAt: sql<Date>`now()` })
      .where('address', '=', anyOf(addresses))
      .where('auditDue', '=', true)
      .execute();
  }

  /** Its audit has ended, and was not whole: it is begun again, later from time to time. */
  async putOff(address: string): Promise<void> {
    const unreadSince = sql<Date>`coalesce(unread_since, now())`;
    await this.#db
      .updateTable('depositAddress')
      .set({ unreadSince, auditAfter: nextLook(unreadSince) })
      .where('address', '=', address)
      .where('auditDue', '=', true)
      .execute();
  }

  /**
   * What came from `since` on is on the record of that name: the address is free, unless something came, or it is to be audited from
   * earlier by now. Nothing in another record, which a backup may have taken back to before the audit.
   */
  async markAudited(address: string, since: bigint, record: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      if (!(await isRecord(trx, record))) return;
      await trx
        .updateTable('depositAddress')
        .set({ auditDue: false, state: insteadOf('auditing', 'free'), ...NEVER_UNREAD })
        .where('address', '=', address)
        .where('since', '=', since)
        .where('auditDue', '=', true)
        .execute();
    });
  }

  /** An operator knows that no user has what is kept back since the record was restored, and says why; see {@link releaseDoubtful}. */
  async release(who: string, why: string): Promise<number> {
    return releaseDoubtful(this.#db, who, why);
  }

  #rows() {
    return this.#db
      .selectFrom('depositAddress')
      .innerJoin('watchedWallet', 'watchedWallet.address', 'depositAddress.address')
      .select(SHOWN)
      .select(STATE.as('state'));
  }
}

/** Before the first block nobody would look for what is paid. Without a lock: many who ask would keep the scan from its cursor. */
async function refuseUnscanned(trx: Transaction<Tables>): Promise<void> {
  const cursor = await trx.selectFrom('scanCursor').select('slot').executeTakeFirst();
  if (cursor !== undefined) return;
  const message = 'the scan of blocks has not begun: what is paid to an address now would never be seen';
  throw new DomainError('Unavailable', message);
}

async function takeFree(trx: Transaction<Tables>, userRef: string): Promise<string | undefined> {
  for (;;) {
    const free = await trx
      .selectFrom('depositAddress')
      .select('address')
      .where(ASSIGNABLE)
      .orderBy('position')
      .limit(1)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    if (free === undefined) return undefined;
    // What was committed before the row was locked is seen by a new statement alone; what is not waits for the lock.
    const taken = await trx
      .updateTable('depositAddress')
      .set({ state: 'assigned', userRef, assignedAt: sql<Date>`now()`, assignedAfter: ASSIGNED_NOW })
      .where('address', '=', free.address)
      .where(ASSIGNABLE)
      .returning('address')
      .executeTakeFirst();
    if (taken !== undefined) return taken.address;
  }
}

function insteadOf(state: DepositAddressState, other: DepositAddressState) {
  return sql<DepositAddressState>`case when state = ${state} then ${other} else state end`;
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
  keptBack: boolean,
): Promise<number> {
  const addresses = entries.map(({ address }) => address);
  await watch(trx, addresses, 'deposit');
  if (since !== null)
    await trx
      .updateTable('depositAddress')
      .set({ state: insteadOf('free', 'auditing'), since, auditDue: true, ...NEVER_UNREAD })
      .where('address', '=', anyOf(addresses))
      .where((row) => row.or([row('since', 'is', null), row('since', '>', since)]))
      .execute();
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
