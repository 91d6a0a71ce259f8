import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/** Balance changes of hot wallets, and the baseline balances to which they are added. */
export const hotWallets = migrationOf([
  sql`create table fee_payer (address text primary key)`,
  sql`create table wallet_history (
    wallet text primary key,
    from_slot bigint not null,
    judged_to_slot bigint not null
  )`,
  sql`create table wallet_baseline (
    wallet text not null,
    account text not null,
    asset text not null,
    slot bigint not null,
    amount numeric(20, 0) not null check (amount >= 0),
    taken_at timestamptz not null default now(),
    primary key (wallet, account, asset)
  )`,
  sql`create table outflow (
    signature text not null,
    slot bigint not null,
    account text not null,
    asset text not null,
    wallet text not null references watched_wallet (address),
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    owner_signed boolean not null, -- false if a delegate moved the tokens
    primary key (signature, slot, account, asset)
  )`,
  sql`create index outflow_by_wallet on outflow (wallet, slot)`,
  sql`create index outflow_by_slot on outflow (slot)`,
  sql`create table spend (
    signature text not null,
    slot bigint not null,
    wallet text not null references watched_wallet (address),
    error text,
    judged boolean not null default false,
    seen_at timestamptz not null default now(),
    primary key (signature, slot, wallet)
  )`,
  sql`create index spend_by_wallet on spend (wallet, slot)`,
  sql`create index spend_unjudged on spend (wallet, slot) where not judged`,
]);
