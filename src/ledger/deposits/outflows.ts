import { type Selectable, sql } from 'kysely';
import type { Database, Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { LIVE } from '../settlements/attempt-row.ts';
import { givenRows } from './given-rows.ts';
import { alertSeizure } from './seizures.ts';

/** What left an account of a wallet of ours, by the word of the node that showed the block, or by that of a quorum. */
export type OutflowRow = Readonly<Selectable<Tables['outflow']>>;

/**
 * What a quorum shows in the place of an outflow on record; `amount` 0: nothing left. `ownerSigned`: the wallet is among the signers
 * of the transaction. `by`: who says so.
 */
export interface WitnessedOutflow {
  readonly row: OutflowRow;
  readonly amount: bigint;
  readonly ownerSigned: boolean;
  readonly by: readonly string[];
}

/** An outflow that a payment of ours has made, just so. */
export interface ProvedOutflow {
  readonly row: OutflowRow;
  readonly by: string;
}

/** An attempt of ours that has landed, by the word of two nodes. */
export interface LandedPayment {
  /** For people. */
  readonly name: string;
  /** As it was signed, base64. */
  readonly message: string;
}

/**
 * An outflow that no quorum has shown yet. `payment`: the attempt on record that has landed under that signature in that slot and was
 * planned to take just that amount of that asset from that wallet; null where there is none.
 */
export interface UnwitnessedOutflow {
  readonly row: OutflowRow;
  readonly payment: LandedPayment | null;
}

const KEY = sql`(outflow.slot, outflow.signature, outflow.account, outflow.asset)`;
/** Whoever lands an attempt hears of its end as soon as the scan reads its block; later than this many slots nobody counts on that. */
const ENDS_WITHIN_SLOTS = 300n;
const NOT_AWAITED = sql<bigint>`(select slot from scan_cursor) - ${ENDS_WITHIN_SLOTS}::bigint`;

/** What left the wallets of ours. It counts from the block on that shows it; one that a quorum denies is struck out. */
export class Outflows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Those that no quorum has shown yet, those behind `after`, the oldest first. One of an attempt that is under way is left out for a
   * while: how that ends tells of it, too.
   */
  async unwitnessed(limit: number, after?: OutflowRow): Promise<readonly UnwitnessedOutflow[]> {
    let query = this.#db
      .selectFrom('outflow')
      .leftJoin('attempt', (join) =>
        join
          .onRef('attempt.signature', '=', 'outflow.signature')
          .on(sql<boolean>`outflow.wallet = any(attempt.signers)`),
      )
      .leftJoin('reservation as planned', (join) =>
        join
          .onRef('planned.settlementId', '=', 'attempt.settlementId')
          .onRef('planned.wallet', '=', 'outflow.wallet')
          .onRef('planned.asset', '=', 'outflow.asset')
          .onRef('planned.amount', '=', 'outflow.amount')
          .on('planned.state', '=', 'landed')
          .on('attempt.state', '=', 'landed')
          .onRef('attempt.slot', '=', 'outflow.slot'),
      )
      .selectAll('outflow')
      .select(['planned.settlementId', 'attempt.n', 'attempt.message'])
      .where('outflow.witnessDue', '=', true)
      .where((row) =>
        row.or([
          row('attempt.state', 'is', null),
          row('attempt.state', 'not in', LIVE),
          row('outflow.slot', '<=', NOT_AWAITED),
        ]),
      );
    if (after !== undefined) {
      const { slot, signature, account, asset } = after;
      query = query.where(sql<boolean>`${KEY} > (${slot}::bigint, ${signature}, ${account}, ${asset})`);
    }
    const rows = await query
      .orderBy('outflow.slot')
      .orderBy('outflow.signature')
      .orderBy('outflow.account')
      .orderBy('outflow.asset')
      .limit(limit)
      .execute();
    return rows.map(({ settlementId, n, message, ...row }) => ({
      row,
      payment: settlementId === null || message === null ? null : { name: `${settlementId}/${n}`, message },
    }));
  }

  /** Marks outflows that payments of ours prove as they are: `by` is the payment. One statement for all. */
  async prove(proved: readonly ProvedOutflow[]): Promise<void> {
    if (proved.length === 0) return;
    const rows = proved.map(({ row, by }) => ({ ...row, witnessedBy: by }));
    await this.#db
      .updateTable('outflow')
      .from(givenRows('outflow', rows))
      .set((row) => ({ witnessDue: false, witnessedBy: row.ref('given.witnessedBy') }))
      .whereRef('outflow.signature', '=', 'given.signature')
      .whereRef('outflow.slot', '=', 'given.slot')
      .whereRef('outflow.account', '=', 'given.account')
      .whereRef('outflow.asset', '=', 'given.asset')
      .whereRef('outflow.amount', '=', 'given.amount')
      .where('outflow.witnessDue', '=', true)
      .execute();
  }

  /**
   * Puts on record what a quorum shows, with an alert where the block's node had shown something else, or where tokens left without
   * their owner's signature. Nothing where another one was faster. What is struck out and read again is asked for again.
   */
  async witness(witnessed: WitnessedOutflow): Promise<void> {
    const { row, amount, by } = witnessed;
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
      if (seen.numUpdatedRows === 0n) return;
      await alertSeizure(trx, witnessed);
      if (amount === row.amount) return;
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
