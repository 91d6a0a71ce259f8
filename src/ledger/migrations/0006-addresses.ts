import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const addresses = migrationOf([
  sql`create table watch_version (
    one boolean primary key default true check (one),
    version bigint not null
  )`,
  sql`insert into watch_version (version) values (0)`,
  sql`create table watched_wallet (
    address text primary key check (address ~ '^[1-9A-HJ-NP-Za-km-z]{32,44}$'),
    kind text not null check (kind in ('deposit', 'hot')),
    version bigint not null, -- version of the watch set that added the wallet
    watched_after bigint -- blocks above this slot are matched with the wallet; null: all scanned blocks
  )`,
  sql`create index watched_wallet_by_version on watched_wallet (version)`,
  sql`create index watched_wallet_hot on watched_wallet (address) where kind = 'hot'`,
  sql`create table deposit_address (
    address text primary key references watched_wallet (address),
    position bigint generated always as identity unique,
    path text not null,
    state text not null check (state in ('auditing', 'free', 'assigned', 'used')),
    user_ref text constraint deposit_address_user_unique unique,
    since bigint, -- slot from which the address may have been paid before it was watched
    created_at timestamptz not null default now(),
    imported_after bigint, -- newest final slot at the last import; a due audit covers slots up to it
    assigned_at timestamptz,
    assigned_after bigint, -- deposits up to this slot precede the assignment; null: no longer known
    audit_due boolean not null default false, -- true if transactions from slot since on must be searched
    audit_tried_at timestamptz, -- when an audit last began
    audit_after timestamptz, -- earliest time of the next audit; null if the last audit was complete
    unread_since timestamptz, -- time of the first audit that ended incomplete; null if the last audit was complete
    check ((state = 'assigned') = (user_ref is not null)),
    check ((user_ref is null) = (assigned_at is null)),
    check (state <> 'auditing' or since is not null),
    check (not audit_due or since is not null)
  )`,
  sql`create index deposit_address_free on deposit_address (position) where state = 'free'`,
  sql`create index deposit_address_audit_due on deposit_address (audit_tried_at nulls first, position) where audit_due`,
  sql`create index deposit_address_due_since on deposit_address (since) where audit_due`,
  sql`create index deposit_address_due_after on deposit_address ((coalesce(imported_after, 0))) where audit_due`,
]);
