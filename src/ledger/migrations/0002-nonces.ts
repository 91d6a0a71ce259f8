import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** Durable nonce accounts, and the transactions that create and advance them. */
export const nonces = inOrder([
  sql`create table nonce_account (
    address text primary key,
    authority text not null,
    position integer not null check (position > 0),
    state text not null check (state in ('free', 'leased', 'unproved')),
    withdrawal_id text references withdrawal (id),
    nonce text,
    slot bigint,
    created_at timestamptz not null default now(),
    unique (authority, position),
    check ((state = 'leased') = (withdrawal_id is not null)),
    check (state = 'unproved' or (nonce is not null and slot is not null))
  )`,
  sql`create table nonce_upkeep (
    message_hash text primary key check (message_hash ~ '^[0-9a-f]{64}$'),
    kind text not null check (kind in ('create', 'advance')),
    address text not null references nonce_account (address),
    wallet text not null,
    message text not null,
    blockhash text not null,
    blockhash_slot bigint not null,
    blockhash_height bigint,
    last_valid_block_height bigint,
    fee_lamports numeric(20, 0) not null,
    rent_lamports numeric(20, 0) not null,
    state text not null check (state in ('prepared', 'signed', 'landed', 'failed', 'dead')),
    signature text unique,
    raw text,
    slot bigint,
    error text,
    proof jsonb,
    created_at timestamptz not null default now(),
    check ((signature is null) = (raw is null)),
    check (state <> 'signed' or signature is not null),
    check (state not in ('landed', 'failed') or slot is not null),
    check ((kind = 'create') = (blockhash_height is not null)),
    check ((kind = 'create') = (last_valid_block_height is not null))
  )`,
  sql`create unique index nonce_upkeep_one_live on nonce_upkeep (address) where state in ('prepared', 'signed')`,
  // Nonces of attempts that a restored database does not have.
  sql`create table lost_nonce (
    address text primary key references nonce_account (address),
    nonce text not null,
    slot bigint not null
  )`,
]);
