import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

export const cluster = inOrder([
  sql`create table cluster (
    one boolean primary key default true check (one),
    genesis_hash text not null,
    bound_at timestamptz not null default now()
  )`,
  sql`create table continuity (
    one boolean primary key default true check (one),
    identity text not null,
    seen_at timestamptz not null,
    quarantine_height bigint,
    quarantine_identity text,
    nonces_settled boolean not null default false,
    generation integer not null default 0,
    doubtful_up_to bigint not null default 0
  )`,
  sql`create table node_ledger (
    node text primary key,
    first_slot bigint not null,
    finalized_slot bigint not null,
    gap_from bigint,
    gap_to bigint,
    check ((gap_from is null) = (gap_to is null)),
    check (gap_to >= gap_from)
  )`,
  sql`create table node_view (
    worker text primary key,
    alarms jsonb not null,
    seen_at timestamptz not null default now()
  )`,
]);
