import type { Selectable } from 'kysely';
import { advanceSubject, NONCE_ADVANCE } from '../../domain/nonce-settlements.ts';
import type { Database, Tables } from '../database.ts';
import { isQuarantine } from '../operations/continuity.ts';
import { requestSettlements } from './settlement-row.ts';

/** A value of a nonce account that an attempt may carry which only a lost record knew; finalized banks held it at `slot`. */
export type LostNonceRow = Readonly<Selectable<Tables['lostNonce']>>;

/** The nonces that must be used up before the present gap in the record ends; they are forgotten with it. */
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

  /** Those of the gap that ends with `height`, all at once, with the settlements that use them up; nothing where another one goes on by now, or they are known already. */
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
