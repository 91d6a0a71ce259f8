import { sql } from 'kysely';
import type { Arrived } from '../domain/audit.ts';
import type { NotCreditedReason } from '../domain/deposit.ts';
import type { Database } from './database.ts';

/** What the record says that an account of a watched wallet gained since it is watched; base units, negative where more left. */
export interface RecordedBalance {
  readonly wallet: string;
  readonly account: string;
  readonly asset: string;
  readonly amount: bigint;
}

const NESTED: NotCreditedReason = 'nested_token_account';

/** The slot of the baseline of the wallet in a row of that table, -1 where it has none. */
function baselineSlotOf(table: 'deposit' | 'outflow') {
  const wallet = sql.ref(`${table}.wallet`);
  return sql`coalesce((select max(taken.slot) from wallet_baseline taken where taken.wallet = ${wallet}), -1)`;
}

/** All that came to watched wallets and left them, credited or not. */
export class Movements {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The sums of finalized inflows less outflows in the blocks behind slot `after` up to `to`, of each account of these wallets that had
   * any. Without nested token accounts: they are no accounts of the wallet.
   */
  async balancesOf(wallets: readonly string[], to: bigint, after = -1n): Promise<readonly RecordedBalance[]> {
    const { rows } = await sql<RecordedBalance>`
      select wallet, account, asset, sum(amount) as amount from (
        select wallet, account, asset, amount from deposit
          where wallet = any(${wallets}::text[]) and slot > ${after} and slot <= ${to}
            and finalized_at is not null and state <> 'dropped' and reason is distinct from ${NESTED}
        union all
        select wallet, account, asset, -amount from outflow
          where wallet = any(${wallets}::text[]) and slot > ${after} and slot <= ${to}
      ) movement
      group by wallet, account, asset order by wallet, account, asset`.execute(this.#db);
    return rows;
  }

  /** The accounts in which anything of these wallets ever was, of hot wallets since their baseline, by wallet. */
  async accountsOf(wallets: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const { rows } = await sql<{ wallet: string; accounts: readonly string[] }>`
      select wallet, array_agg(account) as accounts from (
        select wallet, account from deposit
          where wallet = any(${wallets}::text[]) and slot > ${baselineSlotOf('deposit')}
            and reason is distinct from ${NESTED}
        union select wallet, account from outflow
          where wallet = any(${wallets}::text[]) and slot > ${baselineSlotOf('outflow')}
        union select wallet, account from wallet_baseline where wallet = any(${wallets}::text[])
      ) known group by wallet`.execute(this.#db);
    return new Map(rows.map(({ wallet, accounts }) => [wallet, accounts]));
  }

  /** What came to a wallet in finalized blocks of these slots, both ends included, credited or not. */
  async arrivalsOf(wallet: string, from: bigint, to: bigint): Promise<readonly Arrived[]> {
    return this.#db
      .selectFrom('deposit')
      .select(['signature', 'slot', 'account', 'asset', 'amount'])
      .where('wallet', '=', wallet)
      .where('slot', '>=', from)
      .where('slot', '<=', to)
      .where('finalizedAt', 'is not', null)
      .where('state', '<>', 'dropped')
      .orderBy('id')
      .execute();
  }
}
