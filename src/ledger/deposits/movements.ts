import { sql } from 'kysely';
import type { Arrived } from '../../domain/audit.ts';
import type { NotCreditedReason } from '../../domain/deposit.ts';
import { anyOf, Repository, type RowOf } from '../database.ts';

/** Recorded net change of an account's balance, in base units. */
export type RecordedBalance = Pick<RowOf<'outflow'>, 'wallet' | 'account' | 'asset' | 'amount'>;

const NESTED_REASON: NotCreditedReason = 'nested_token_account';

type Account = Pick<RecordedBalance, 'wallet' | 'account'>;

/** All inflows and outflows of watched wallets, credited or not. */
export class Movements extends Repository {
  /** Finalized inflows minus outflows in slots (`after`, `to`]. Nested token accounts are not the wallet's own. */
  async balancesOf(wallets: readonly string[], to: bigint, after = -1n): Promise<readonly RecordedBalance[]> {
    const { rows } = await sql<RecordedBalance>`
      select wallet, account, asset, sum(amount) as amount from (
        select wallet, account, asset, amount from deposit
          where wallet = any(${wallets}::text[]) and slot > ${after} and slot <= ${to}
            and finalized_at is not null and state <> 'dropped' and reason is distinct from ${NESTED_REASON}
        union all
        select wallet, account, asset, -amount from outflow
          where wallet = any(${wallets}::text[]) and slot > ${after} and slot <= ${to}
      ) movement
      group by wallet, account, asset order by wallet, account, asset`.execute(this.db);
    return rows;
  }

  /**
   * Accounts with a recorded movement, by wallet. For a hot wallet: the accounts of its baseline, and those with a
   * later movement.
   */
  async accountsOf(wallets: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const baselines = await this.db
      .selectFrom('walletBaseline')
      .select(['wallet', (row) => row.fn.max('slot').as('slot')])
      .where('wallet', '=', anyOf(wallets))
      .groupBy('wallet')
      .execute();
    const baselineSlots = new Map(baselines.map(({ wallet, slot }) => [wallet, slot]));
    // One query for each baseline: with its slot as a parameter, the planner estimates that few rows of a hot wallet
    // are newer.
    const found: Account[] = await this.#accountsSince(
      wallets.filter((wallet) => !baselineSlots.has(wallet)),
      -1n,
    );
    for (const [wallet, slot] of baselineSlots) found.push(...(await this.#accountsSince([wallet], slot)));
    const accounts = new Map<string, string[]>();
    for (const { wallet, account } of found) accounts.set(wallet, [...(accounts.get(wallet) ?? []), account]);
    return accounts;
  }

  async #accountsSince(wallets: readonly string[], slot: bigint): Promise<Account[]> {
    if (wallets.length === 0) return [];
    const { rows } = await sql<Account>`
      select wallet, account from deposit
        where wallet = any(${wallets}::text[]) and slot > ${slot} and reason is distinct from ${NESTED_REASON}
      union select wallet, account from outflow where wallet = any(${wallets}::text[]) and slot > ${slot}
      union select wallet, account from wallet_baseline where wallet = any(${wallets}::text[])`.execute(
      this.db,
    );
    return rows;
  }

  /** Inflows of a wallet in finalized blocks from slot `from` to slot `to`, both included, credited or not. */
  async inflowsOf(wallet: string, from: bigint, to: bigint): Promise<readonly Arrived[]> {
    return this.db
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
