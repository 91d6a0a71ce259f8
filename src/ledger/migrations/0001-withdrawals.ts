import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** Withdrawals and the balances that are reserved for them. */
export const withdrawals = inOrder([
  sql`create table withdrawal (
    id text primary key,
    position bigint generated always as identity unique,
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    destination text not null,
    accept_empty_wallet boolean not null,
    memo text,
    fingerprint text not null,
    status text not null check (status in ('requested', 'awaiting_confirmation', 'awaiting_funds', 'preparing',
      'sending', 'confirmed', 'finalized', 'rejected', 'cancelled', 'failed', 'held')),
    reason_code text,
    reason_message text,
    confirmed_by_customer boolean not null default false,
    amount_received numeric(20, 0),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((reason_code is null) = (reason_message is null))
  )`,
  sql`create index withdrawal_by_status on withdrawal (status, position)`,
  sql`create index withdrawal_by_destination on withdrawal (destination, position)`,
  sql`create table reservation (
    withdrawal_id text not null references withdrawal (id),
    wallet text not null,
    asset text not null,
    amount numeric(20, 0) not null check (amount >= 0),
    state text not null check (state in ('open', 'landed', 'released')),
    slot bigint,
    primary key (withdrawal_id, wallet, asset),
    check ((state = 'landed') = (slot is not null))
  )`,
  sql`create index reservation_open on reservation (wallet, asset) include (amount) where state = 'open'`,
  sql`create index reservation_landed on reservation (wallet, slot) where state = 'landed'`,
]);
