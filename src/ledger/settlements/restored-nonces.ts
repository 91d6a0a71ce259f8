import type { Selectable } from 'kysely';
import { advanceSubject, NONCE_ADVANCE } from '../../domain/nonce-settlements.ts';
import type { Database, Tables } from '../database.ts';
import { isQuarantine } from '../operations/continuity.ts';
import { requestSettlements } from './settlement-row.ts';

/** A nonce that an attempt lost in a restore may carry; finalized banks had it at `slot`. */
export type LostNonceRow = Readonly<Selectable<Tables['lostNonce']>>;

/** Nonces that must be used up before the current gap ends; they are deleted with it. */
export class LostNonces {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(): Promise<readonly LostNonceRow[]> {
    return this.#db.selectFrom('lostNonce').selectAll().orderBy('address').execute();
  }

  async get(address: string): Promise<LostNonceRow | undefined> {
    return this.#db.selectFrom('lostNonce').selectAll().where('address', '=', address).executeTakeFirst();
  }

  /**
   * Stores nonces of the gap that ends with `height`, and requests the settlements that use them up. No effect if
   * another gap is current, or for nonces that are stored already.
   */
  async suspect(rows: readonly LostNonceRow[], height: bigint): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
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
