import { type Selectable, sql, type Transaction } from 'kysely';
import { advanceSubject, NONCE_ADVANCE, NONCE_CREATE, type UsedUp } from '../../domain/nonce-settlements.ts';
import type { Database, Tables } from '../database.ts';
import { requestSettlements } from './settlement-row.ts';

/** A nonce account of a wallet; `position` numbers those of one wallet from 1. */
export type NonceAccountRow = Readonly<Selectable<Tables['nonceAccount']>>;

/** A value that finalized banks show, and the slot at which they do. */
export interface FinalizedNonce {
  readonly nonce: string;
  readonly slot: bigint;
}

/**
 * Durable nonce accounts: `free` -> `leased` to one settlement -> `unproved` when its attempt is settled -> `free` when finalized banks
 * show another value. No value is ever carried by two attempts.
 */
export class Nonces {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Takes the wallet's next position on record, with the settlement that makes the account. `addressOf` derives its address. */
  async register(authority: string, addressOf: (position: number) => string): Promise<NonceAccountRow> {
    return this.#db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/nonces/${authority}`}, 0))`.execute(
        trx,
      );
      const last = await trx
        .selectFrom('nonceAccount')
        .select((row) => row.fn.max('position').as('position'))
        .where('authority', '=', authority)
        .executeTakeFirst();
      const position = (last?.position ?? 0) + 1;
      const address = addressOf(position);
      await requestSettlements(trx, NONCE_CREATE, [address]);
      return trx
        .insertInto('nonceAccount')
        .values({ address, authority, position, state: 'unproved' })
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /** Puts on record that this value of the account is to be used up, so that the attempt that carries it cannot land any more. */
  async useUp(value: UsedUp): Promise<void> {
    await requestSettlements(this.#db, NONCE_ADVANCE, [advanceSubject(value)]);
  }

  /**
   * Takes an account on record that the chain has and a lost record had made. A transaction may carry what it holds, so that it is
   * free only with another value.
   */
  async adopt(
    account: Pick<NonceAccountRow, 'authority' | 'position' | 'address'>,
    held: FinalizedNonce,
  ): Promise<void> {
    await this.#db
      .insertInto('nonceAccount')
      .values({ ...account, ...held, state: 'unproved' })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** All of them, in the order of their making. */
  async list(): Promise<readonly NonceAccountRow[]> {
    return this.#db.selectFrom('nonceAccount').selectAll().orderBy('authority').orderBy('position').execute();
  }

  async get(address: string): Promise<NonceAccountRow | undefined> {
    return this.#db.selectFrom('nonceAccount').selectAll().where('address', '=', address).executeTakeFirst();
  }

  /** A free account, another one for another `salt`, so that those who ask at once seldom want the same. Leases nothing. */
  async candidate(authority: string, salt: bigint): Promise<NonceAccountRow | undefined> {
    return this.#db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'free')
      .orderBy(sql`md5(address || ${salt.toString()})`)
      .executeTakeFirst();
  }

  async unproved(authority: string): Promise<readonly NonceAccountRow[]> {
    return this.#db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'unproved')
      .execute();
  }

  /** Frees an unproved account whose finalized value is not the one that a transaction may carry; anything else stays as it is. */
  async prove(address: string, { nonce, slot }: FinalizedNonce): Promise<void> {
    await updateOf(this.#db, address)
      .set({ state: 'free', nonce, slot })
      .where('state', '=', 'unproved')
      .where((row) => row.or([row('nonce', 'is', null), row('nonce', '<>', nonce)]))
      .execute();
  }

  /** A free account does not hold what is on record: it must be proved anew. No attempt carries its value, so any value will do. */
  async doubt(address: string, nonce: string): Promise<void> {
    await updateOf(this.#db, address)
      .set({ state: 'unproved', nonce: null, slot: null })
      .where('state', '=', 'free')
      .where('nonce', '=', nonce)
      .execute();
  }
}

/** Locks the account for this transaction where it is free and holds the nonce; false where another one has it or wants it. */
export async function lockFreeNonce(
  trx: Transaction<Tables>,
  address: string,
  nonce: string,
): Promise<boolean> {
  const row = await trx
    .selectFrom('nonceAccount')
    .select('address')
    .where('address', '=', address)
    .where('state', '=', 'free')
    .where('nonce', '=', nonce)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  return row !== undefined;
}

/** Leases an account that {@link lockFreeNonce} has locked. */
export async function leaseNonce(
  trx: Transaction<Tables>,
  address: string,
  settlementId: string,
): Promise<void> {
  await updateOf(trx, address).set({ state: 'leased', settlementId }).execute();
}

/** Ends the lease of a settled attempt. The account keeps the nonce that the attempt carried until another one is proved. */
export async function returnNonce(
  trx: Transaction<Tables>,
  address: string,
  settlementId: string,
): Promise<void> {
  await updateOf(trx, address)
    .set({ state: 'unproved', settlementId: null })
    .where('settlementId', '=', settlementId)
    .execute();
}

function updateOf(db: Database | Transaction<Tables>, address: string) {
  return db.updateTable('nonceAccount').where('address', '=', address);
}
