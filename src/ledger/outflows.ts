import { type Selectable, sql } from 'kysely';
import { raiseAlert } from './alerts.ts';
import type { Database, Tables } from './database.ts';

/** What left an account of a wallet of ours, by the word of the node that showed the block, or by that of a quorum. */
export type OutflowRow = Readonly<Selectable<Tables['outflow']>>;

/** What a quorum shows in the place of an outflow on record; `amount` 0: nothing left. */
export interface WitnessedOutflow {
  readonly row: OutflowRow;
  readonly amount: bigint;
  readonly by: readonly string[];
}

const KEY = sql`(slot, signature, account, asset)`;

/** What left the wallets of ours. It counts from the block on that shows it; one that a quorum denies is struck out. */
export class Outflows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Those that no quorum has shown yet, those behind `after`, the oldest first. */
  async unwitnessed(limit: number, after?: OutflowRow): Promise<readonly OutflowRow[]> {
    let query = this.#db.selectFrom('outflow').selectAll().where('witnessDue', '=', true);
    if (after !== undefined) {
      const { slot, signature, account, asset } = after;
      query = query.where(sql<boolean>`${KEY} > (${slot}::bigint, ${signature}, ${account}, ${asset})`);
    }
    return query.orderBy(['slot', 'signature', 'account', 'asset']).limit(limit).execute();
  }

  /**
   * Puts on record what a quorum shows, with an alert where the block's node had shown something else. Nothing where another one was
   * faster. What is struck out and read again is asked for again.
   */
  async witness({ row, amount, by }: WitnessedOutflow): Promise<void> {
    const { signature, slot, account, asset } = row;
    await this.#db.transaction().execute(async (trx) => {
      const seen = await trx
        .updateTable('outflow')
        .set({ witnessDue: false, witnessedBy: by.join(', '), ...(amount === 0n ? {} : { amount }) })
        .where('signature', '=', signature)
        .where('slot', '=', slot)
        .where('account', '=', account)
        .where('asset', '=', asset)
        .where('amount', '=', row.amount)
        .where('witnessDue', '=', true)
        .executeTakeFirst();
      if (seen.numUpdatedRows === 0n || amount === row.amount) return;
      if (amount === 0n)
        await trx
          .deleteFrom('outflow')
          .where('signature', '=', signature)
          .where('slot', '=', slot)
          .where('account', '=', account)
          .where('asset', '=', asset)
          .execute();
      const message = `${by.join(', ')} show that ${amount} of ${asset} left ${account} in slot ${slot}, the scan was shown ${row.amount}`;
      const details = { account, asset, by, onRecord: row.amount.toString(), read: amount.toString() };
      await raiseAlert(trx, { kind: 'deposit_mismatch', subject: signature, message, details });
    });
  }
}
