import { sql } from 'kysely';
import { advanceSubject, NONCE_ADVANCE, NONCE_CREATE, type UsedUp } from '../../domain/settlement-kinds.ts';
import { type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import { isQuarantineHeight } from '../operations/continuity.ts';
import { requestSettlements } from './settlement-row.ts';

/** A nonce account of a wallet; `position` numbers the accounts of one wallet from 1. */
export type NonceAccountRow = RowOf<'nonceAccount'>;

/** A nonce in finalized banks, and the slot at which it was read. */
export type FinalizedNonce = Pick<RowOf<'lostNonce'>, 'nonce' | 'slot'>;

/**
 * State of an account: `free` -> `leased` to one settlement -> `unproved` when its attempt has ended -> `free` when
 * the finalized account has a new nonce. Two attempts use the same nonce only if one of them is a bare advance.
 */
export class Nonces extends Repository {
  /** Stores a nonce account at the wallet's next position, and requests the settlement that creates it on chain. */
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

  /** Requests the settlement that advances this nonce, so that the attempt that uses it can no longer land. */
  async requestAdvance(value: UsedUp): Promise<void> {
    await requestSettlements(this.db, NONCE_ADVANCE, [advanceSubject(value)]);
  }

  /**
   * Stores a nonce account whose row a restore has lost. A lost transaction can still use `nonce`, so only a new
   * nonce frees the account.
   */
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

  /**
   * Picks a free account but does not lease it. `salt` varies the choice, so that concurrent callers seldom pick the
   * same one.
   */
  async candidate(authority: string, salt: bigint): Promise<NonceAccountRow | undefined> {
    return this.db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'free')
      .orderBy(sql`md5(address || ${salt.toString()})`)
      .executeTakeFirst();
  }

  async unprovedAccounts(authority: string): Promise<readonly NonceAccountRow[]> {
    return this.db
      .selectFrom('nonceAccount')
      .selectAll()
      .where('authority', '=', authority)
      .where('state', '=', 'unproved')
      .execute();
  }

  /** Frees an unproved account if its finalized `nonce` differs from the one that a transaction can still use. */
  async prove(address: string, { nonce, slot }: FinalizedNonce): Promise<void> {
    await updateOf(this.db, address)
      .set({ state: 'free', nonce, slot })
      .where('state', '=', 'unproved')
      .where((row) => row.or([row('nonce', 'is', null), row('nonce', '<>', nonce)]))
      .execute();
  }

  /**
   * Marks a free account as unproved because the chain has a different nonce. No attempt uses the stored nonce, so
   * any finalized nonce frees the account.
   */
  async markUnproved(address: string, nonce: string): Promise<void> {
    await updateOf(this.db, address)
      .set({ state: 'unproved', nonce: null, slot: null })
      .where('state', '=', 'free')
      .where('nonce', '=', nonce)
      .execute();
  }
}

/**
 * Locks the account if it is free and has this nonce. Returns false if it is not, or if another transaction has
 * locked it.
 */
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

/** Ends the lease of an ended attempt. The row retains the used nonce until a new one is finalized. */
export async function returnNonce(trx: Trx, address: string, settlementId: string): Promise<void> {
  await updateOf(trx, address)
    .set({ state: 'unproved', settlementId: null })
    .where('settlementId', '=', settlementId)
    .execute();
}

function updateOf(db: Database | Trx, address: string) {
  return db.updateTable('nonceAccount').where('address', '=', address);
}

/**
 * Nonce that may be used by an attempt whose row a database restore has lost. Finalized banks had this nonce at
 * `slot`.
 */
export type LostNonceRow = RowOf<'lostNonce'>;

/** Nonces that must be advanced before the current restore gap ends. The rows are deleted when it ends. */
export class LostNonces extends Repository {
  async list(): Promise<readonly LostNonceRow[]> {
    return this.db.selectFrom('lostNonce').selectAll().orderBy('address').execute();
  }

  async get(address: string): Promise<LostNonceRow | undefined> {
    return this.db.selectFrom('lostNonce').selectAll().where('address', '=', address).executeTakeFirst();
  }

  /**
   * Stores suspected nonces of the restore gap that ends at block height `height`, and requests the settlements that
   * advance them. Nonces that are stored already are skipped. No effect if a different gap is current.
   */
  async suspect(rows: readonly LostNonceRow[], height: bigint): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      if (!(await isQuarantineHeight(trx, height))) return;
      await requestSettlements(trx, NONCE_ADVANCE, rows.map(advanceSubject));
      await trx
        .insertInto('lostNonce')
        .values(rows)
        .onConflict((conflict) => conflict.column('address').doNothing())
        .execute();
    });
  }
}
