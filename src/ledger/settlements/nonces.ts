import { sql } from 'kysely';
import {
  advanceSubject,
  type ConsumedNonce,
  NONCE_ADVANCE,
  NONCE_CREATE,
} from '../../domain/settlement-kinds.ts';
import { type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import { isQuarantine } from '../operations/continuity.ts';
import { requestSettlements } from './settlement-row.ts';

/** A nonce account of a wallet; `position` numbers the accounts of one wallet from 1. */
export type NonceAccountRow = RowOf<'nonceAccount'>;

/** A nonce in finalized banks, and the slot at which it was read. */
export type FinalizedNonce = Pick<RowOf<'lostNonce'>, 'nonce' | 'slot'>;

/**
 * `free` -> `leased` to one settlement -> `unproved` when its attempt has ended -> `free` when finalized banks have
 * another nonce. Only a bare advance ever carries the nonce of another attempt.
 */
export class Nonces extends Repository {
  /** Takes the wallet's next position, and requests the settlement that creates the account. */
  async register(authority: string, addressOf: (position: number) => string): Promise<NonceAccountRow> {
    return this.db.transaction().execute(async (trx) => {
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

  /** Requests the settlement that uses up this nonce, so that the attempt that carries it cannot land any more. */
  async useUp(value: ConsumedNonce): Promise<void> {
    await requestSettlements(this.db, NONCE_ADVANCE, [advanceSubject(value)]);
  }

  /** Stores an account that a restore has lost. A transaction may carry its nonce: only another one frees it. */
  async adopt(
    account: Pick<NonceAccountRow, 'authority' | 'position' | 'address'>,
    nonce: FinalizedNonce,
  ): Promise<void> {
    await this.db
      .insertInto('nonceAccount')
      .values({ ...account, ...nonce, state: 'unproved' })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Ordered by wallet and position. */
  async list(): Promise<readonly NonceAccountRow[]> {
    return this.db.selectFrom('nonceAccount').selectAll().orderBy('authority').orderBy('position').execute();
  }

  async get(address: string): Promise<NonceAccountRow | undefined> {
    return this.db.selectFrom('nonceAccount').selectAll().where('address', '=', address).executeTakeFirst();
  }

  /** A free account, which is not leased. The `salt` varies the choice, so that callers seldom collide. */
  async candidate(authority: string, salt: bigint): Promise<NonceAccountRow | undefined> {
    return this.db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'free')
      .orderBy(sql`md5(address || ${salt.toString()})`)
      .executeTakeFirst();
  }

  async unproved(authority: string): Promise<readonly NonceAccountRow[]> {
    return this.db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'unproved')
      .execute();
  }

  /** Frees an unproved account if its finalized nonce is not the one that a transaction may carry. */
  async prove(address: string, { nonce, slot }: FinalizedNonce): Promise<void> {
    await updateOf(this.db, address)
      .set({ state: 'free', nonce, slot })
      .where('state', '=', 'unproved')
      .where((row) => row.or([row('nonce', 'is', null), row('nonce', '<>', nonce)]))
      .execute();
  }

  /** The chain shows another nonce for a free account. No attempt carries the stored one: any new value will do. */
  async markUnproved(address: string, nonce: string): Promise<void> {
    await updateOf(this.db, address)
      .set({ state: 'unproved', nonce: null, slot: null })
      .where('state', '=', 'free')
      .where('nonce', '=', nonce)
      .execute();
  }
}

/** Locks the account if it is free and has the nonce. Returns false if another transaction has or takes it. */
export async function lockFreeNonce(trx: Trx, address: string, nonce: string): Promise<boolean> {
  return exists(
    trx
      .selectFrom('nonceAccount')
      .select('address')
      .where('address', '=', address)
      .where('state', '=', 'free')
      .where('nonce', '=', nonce)
      .forUpdate()
      .skipLocked(),
  );
}

export async function leaseNonce(trx: Trx, address: string, settlementId: string): Promise<void> {
  await updateOf(trx, address).set({ state: 'leased', settlementId }).execute();
}

/** Ends the lease of an ended attempt. The account keeps the attempt's nonce until another one is proved. */
export async function returnNonce(trx: Trx, address: string, settlementId: string): Promise<void> {
  await updateOf(trx, address)
    .set({ state: 'unproved', settlementId: null })
    .where('settlementId', '=', settlementId)
    .execute();
}

function updateOf(db: Database | Trx, address: string) {
  return db.updateTable('nonceAccount').where('address', '=', address);
}

/** A nonce that an attempt lost in a restore may carry; finalized banks had it at `slot`. */
export type LostNonceRow = RowOf<'lostNonce'>;

/** Nonces that must be used up before the current gap ends; they are deleted with it. */
export class LostNonces extends Repository {
  async list(): Promise<readonly LostNonceRow[]> {
    return this.db.selectFrom('lostNonce').selectAll().orderBy('address').execute();
  }

  async get(address: string): Promise<LostNonceRow | undefined> {
    return this.db.selectFrom('lostNonce').selectAll().where('address', '=', address).executeTakeFirst();
  }

  /**
   * Stores nonces of the gap that ends with `height`, and requests the settlements that use them up. No effect if
   * another gap is current, or for nonces that are stored already.
   */
  async suspect(rows: readonly LostNonceRow[], height: bigint): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      if (!(await isQuarantine(trx, height))) return;
      await requestSettlements(trx, NONCE_ADVANCE, rows.map(advanceSubject));
      await trx
        .insertInto('lostNonce')
        .values(rows)
        .onConflict((conflict) => conflict.column('address').doNothing())
        .execute();
    });
  }
}
