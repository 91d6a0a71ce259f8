import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/**
 * Settlements, reservations, and withdrawals (subjects of one kind). Without a unique key on kind and subject beside
 * the id: it would refuse concurrent inserts that `on conflict (id)` is to merge.
 */
export const settlements = inOrder([
  sql`create table settlement (
    id text primary key,
    position bigint generated always as identity unique,
    kind text not null,
    subject_id text not null,
    status text not null check (status in ('requested', 'awaiting_confirmation', 'awaiting_funds', 'preparing',
      'sending', 'confirmed', 'finalized', 'rejected', 'cancelled', 'failed', 'dead', 'held')),
    reason_code text,
    reason_message text,
    was_confirmed boolean not null default false,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((reason_code is null) = (reason_message is null))
  )`,
  sql`create index settlement_by_subject on settlement (subject_id)`,
  sql`create index settlement_by_kind on settlement (kind, position)`,
  sql`create index settlement_by_status on settlement (status, position)`,
  sql`create table withdrawal (
    id text primary key references settlement (id),
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    destination text not null,
    accept_empty_wallet boolean not null,
    memo text,
    fingerprint text not null,
    confirmed_by_customer boolean not null default false,
    amount_received numeric(20, 0)
  )`,
  sql`create index withdrawal_by_destination on withdrawal (destination)`,
  sql`create table reservation (
    settlement_id text not null references settlement (id),
    wallet text not null,
    asset text not null,
    amount numeric(20, 0) not null check (amount >= 0),
    state text not null check (state in ('open', 'landed', 'released')),
    slot bigint,
    primary key (settlement_id, wallet, asset),
    check ((state = 'landed') = (slot is not null))
  )`,
  sql`create index reservation_landed on reservation (wallet, slot) where state = 'landed'`,
]);
