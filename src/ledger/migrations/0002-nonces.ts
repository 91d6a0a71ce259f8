import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const nonces = migrationOf([
  sql`create table nonce_account (
    address text primary key,
    authority text not null,
    position integer not null check (position > 0),
    state text not null check (state in ('free', 'leased', 'unproved')),
    settlement_id text references settlement (id),
    nonce text,
    slot bigint,
    created_at timestamptz not null default now(),
    unique (authority, position),
    check ((state = 'leased') = (settlement_id is not null)),
    check (state = 'unproved' or (nonce is not null and slot is not null))
  )`,
  // Nonces that may be used by attempts whose rows a restore of the database has lost.
  sql`create table lost_nonce (
    address text primary key references nonce_account (address),
    nonce text not null,
    slot bigint not null
  )`,
]);
