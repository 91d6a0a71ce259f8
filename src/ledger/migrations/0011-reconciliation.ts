import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/** Comparison of balances: the running pass, the last complete pass, and wallets whose balances could not be read. */
export const reconciliation = migrationOf([
  sql`create table reconciliation (
    one boolean primary key default true check (one),
    pages bigint not null default 0,
    passes bigint not null default 0, -- number of complete passes
    begun_at timestamptz, -- start of the running pass
    after text,
    compared_since timestamptz not null default now(),
    wallets bigint not null default 0,
    accounts bigint not null default 0,
    differences bigint not null default 0,
    halted_because text, -- why the newest round ended early; null after the next page
    last_begun_at timestamptz,
    last_ended_at timestamptz,
    last_wallets bigint not null default 0,
    last_accounts bigint not null default 0,
    last_differences bigint not null default 0,
    check (after is null or begun_at is not null)
  )`,
  sql`create table unread_wallet (
    wallet text primary key,
    reason text not null,
    since timestamptz not null default now(),
    asked_at timestamptz not null default now()
  )`,
  sql`create index unread_wallet_by_asked on unread_wallet (asked_at)`,
  sql`create index unread_wallet_by_since on unread_wallet (since)`,
]);
