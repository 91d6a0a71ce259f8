import { type Selectable, sql } from 'kysely';
import type { Database, Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { LIVE } from '../settlements/attempt-row.ts';
import { givenRows } from './given-rows.ts';
import { alertSeizure } from './seizures.ts';

/** An amount that left an account of our wallets, as the block's node or a quorum reported it. */
export type OutflowRow = Readonly<Selectable<Tables['outflow']>>;

/** A quorum's verdict. `amount` 0: nothing left. `ownerSigned`: the wallet signed. `by`: names of the nodes. */
export interface ConfirmedOutflow {
  readonly row: OutflowRow;
  readonly amount: bigint;
  readonly ownerSigned: boolean;
  readonly by: readonly string[];
}

/** An outflow that is exactly what a payment of ours took. */
export interface ProvedOutflow {
  readonly row: OutflowRow;
  readonly by: string;
}

/** An attempt of ours that landed according to two nodes. */
export interface LandedPayment {
  /** For display. */
  readonly name: string;
  /** As it was signed, base64. */
  readonly message: string;
}

/**
 * `payment`: the landed attempt of this signature and slot that was planned to take this amount of this asset from
 * this wallet; null if there is none.
 */
export interface UnconfirmedOutflow {
  readonly row: OutflowRow;
  readonly payment: LandedPayment | null;
}

const KEY = sql`(outflow.slot, outflow.signature, outflow.account, outflow.asset)`;
/** An attempt's end is stored soon after the scan reads its block. After this, outflows stop waiting for it. */
const ENDS_WITHIN_SLOTS = 300n;
const NOT_AWAITED = sql<bigint>`(select slot from scan_cursor) - ${ENDS_WITHIN_SLOTS}::bigint`;

/** Outflows of our wallets. A row counts from its block on; a row that a quorum denies is deleted. */
export class Outflows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Oldest first, after `after`. Those of live attempts come some slots later: the attempt's end may confirm them.
   */
  async unwitnessed(limit: number, after?: OutflowRow): Promise<readonly UnconfirmedOutflow[]> {
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

  /** Marks outflows that payments of ours prove; `by` is the payment. One statement for all. */
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
   * Stores a quorum's verdict, with an alert if the block's node reported another amount, or if tokens left without
   * the owner's signature. No effect if it is confirmed already. A deleted row that is read again needs a new
   * quorum.
   */
  async witness(witnessed: ConfirmedOutflow): Promise<void> {
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
