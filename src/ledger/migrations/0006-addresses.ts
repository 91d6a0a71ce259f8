import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

export const addresses = inOrder([
  sql`create table watch_version (
    one boolean primary key default true check (one),
    version bigint not null
  )`,
  sql`insert into watch_version (version) values (0)`,
  sql`create table watched_wallet (
    address text primary key check (address ~ '^[1-9A-HJ-NP-Za-km-z]{32,44}$'),
    kind text not null check (kind in ('deposit', 'hot')),
    version bigint not null,
    watched_after bigint
  )`,
  sql`create index watched_wallet_by_version on watched_wallet (version)`,
  sql`create table deposit_address (
    address text primary key references watched_wallet (address),
    position bigint generated always as identity unique,
    path text not null,
    state text not null check (state in ('auditing', 'free', 'assigned', 'used')),
    user_ref text constraint deposit_address_user_unique unique,
    since bigint,
    created_at timestamptz not null default now(),
    imported_after bigint,
    assigned_at timestamptz,
    assigned_after bigint,
    audit_due boolean not null default false,
    audit_tried_at timestamptz,
    audit_after timestamptz,
    unread_since timestamptz,
    check ((state = 'assigned') = (user_ref is not null)),
    check ((user_ref is null) = (assigned_at is null)),
    check (state <> 'auditing' or since is not null),
    check (not audit_due or since is not null)
  )`,
  sql`create index deposit_address_free on deposit_address (position) where state = 'free'`,
  sql`create index deposit_address_audit_due on deposit_address (audit_tried_at nulls first, position) where audit_due`,
  sql`create index deposit_address_due_since on deposit_address (since) where audit_due`,
]);
