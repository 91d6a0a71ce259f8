import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/** The comparison of balances: the running pass, the last complete one, and wallets without a result. */
export const reconciliation = migrationOf([
  sql`create table reconciliation (
    one boolean primary key default true check (one),
    pages bigint not null default 0,
    passes bigint not null default 0, -- that have ended
    begun_at timestamptz, -- of the running pass
    after text,
    compared_since timestamptz not null default now(),
    wallets bigint not null default 0,
    accounts bigint not null default 0,
    differences bigint not null default 0,
    halted_because text, -- why a round ended early; null if none did since the last page
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
