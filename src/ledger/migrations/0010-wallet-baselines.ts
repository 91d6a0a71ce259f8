import { type Kysely, sql } from 'kysely';

/** What hot wallets held at the slot from which on their balances are held against their movements. */
export const walletBaselines = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create table wallet_baseline (
      wallet text not null,
      account text not null,
      asset text not null,
      slot bigint not null,
      amount numeric(20, 0) not null check (amount >= 0),
      taken_at timestamptz not null default now(),
      primary key (wallet, account, asset)
    )`.execute(db);
  },
};
