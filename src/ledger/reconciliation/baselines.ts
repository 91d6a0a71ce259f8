import type { Holding } from '../../domain/reconciliation.ts';
import { Repository } from '../database.ts';

/** Balances of a wallet at one finalized slot. */
export interface Baseline {
  readonly slot: bigint;
  readonly takenAt: Date;
  /** Includes SOL, even if it is zero. */
  readonly balances: readonly Holding[];
}

/** A baseline to store. `replaces`: slot of the stored baseline that it replaces, null if none is stored. */
export interface NewBaseline extends Pick<Baseline, 'slot' | 'balances'> {
  readonly wallet: string;
  readonly replaces: bigint | null;
}

/**
 * Initial balances of hot wallets, so that earlier funds do not count as a difference. Deposit addresses begin at
 * zero.
 */
export class Baselines extends Repository {
  async of(wallet: string): Promise<Baseline | null> {
    const rows = await this.db
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
   * Stores a baseline. Returns false without effect if the stored one is not `replaces`, or if the wallet was not yet
   * watched at `slot`.
   */
  async take({ wallet, slot, balances, replaces }: NewBaseline): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
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
        .values(balances.map((holding) => ({ ...holding, wallet, slot })))
        .execute();
      return true;
    });
  }
}
