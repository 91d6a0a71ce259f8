import type { Holding } from '../../domain/reconciliation.ts';
import type { Database } from '../database.ts';

/** What a wallet held at one finalized slot. */
export interface Baseline {
  readonly slot: bigint;
  readonly takenAt: Date;
  /** SOL among them, also where it was nothing. */
  readonly balances: readonly Holding[];
}

/** A baseline to be taken; `replaces`: the slot of the one on record that it takes the place of, null where there is none. */
export interface NewBaseline extends Pick<Baseline, 'slot' | 'balances'> {
  readonly wallet: string;
  readonly replaces: bigint | null;
}

/** What hot wallets held when we first looked: money from before is no difference. Deposit addresses begin with nothing. */
export class Baselines {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async of(wallet: string): Promise<Baseline | null> {
    const rows = await this.#db
      .selectFrom('walletBaseline')
      .select(['account', 'asset', 'amount', 'slot', 'takenAt'])
      .where('wallet', '=', wallet)
      .orderBy('asset')
      .orderBy('account')
      .execute();
    const [first] = rows;
    if (first === undefined) return null;
    const balances = rows.map(({ account, asset, amount }) => ({ account, asset, amount }));
    return { slot: first.slot, takenAt: first.takenAt, balances };
  }

  /**
   * Takes it, whole, where the one on record is the one that it replaces. Answers whether it did: not either for a slot at which the
   * wallet was not yet looked for in every block that came after.
   */
  async take({ wallet, slot, balances, replaces }: NewBaseline): Promise<boolean> {
    return this.#db.transaction().execute(async (trx) => {
      const { watchedAfter } = await trx
        .selectFrom('watchedWallet')
        .select('watchedAfter')
        .where('address', '=', wallet)
        .forUpdate()
        .executeTakeFirstOrThrow();
      if (watchedAfter !== null && watchedAfter > slot) return false;
      const known = await trx
        .selectFrom('walletBaseline')
        .select('slot')
        .where('wallet', '=', wallet)
        .executeTakeFirst();
      if ((known?.slot ?? null) !== replaces) return false;
      await trx.deleteFrom('walletBaseline').where('wallet', '=', wallet).execute();
      await trx
        .insertInto('walletBaseline')
        .values(balances.map((one) => ({ ...one, wallet, slot })))
        .execute();
      return true;
    });
  }
}
