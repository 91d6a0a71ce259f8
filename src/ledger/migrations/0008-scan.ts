import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const scan = migrationOf([
  sql`create table scan_cursor (
    one boolean primary key default true check (one),
    slot bigint not null,
    blockhash text not null,
    height bigint not null,
    pruned_to bigint, -- headers up to this slot are deleted
    tip bigint -- newest slot that a quorum has reported as finalized
  )`,
  sql`create table scan_status (
    one boolean primary key default true check (one),
    state text not null,
    reason text,
    since timestamptz, -- start of the current standstill; null if there is none
    at timestamptz not null default now(),
    tip bigint,
    rate double precision, -- average number of blocks per second up to measured_at
    measured_at timestamptz not null default now(),
    measured_height bigint,
    check ((since is null) = (state in ('starting', 'tail', 'catch-up', 'paused'))),
    check (since is null or reason is not null)
  )`,
  sql`create table scan_pause (
    position bigint generated always as identity primary key,
    actor text not null,
    reason text not null,
    since timestamptz not null default now(),
    ended_at timestamptz,
    ended_by text,
    ended_reason text,
    check ((ended_at is null) = (ended_by is null) and (ended_by is null) = (ended_reason is null))
  )`,
  sql`create unique index scan_pause_one_open on scan_pause ((true)) where ended_at is null`,
  sql`create table block (
    slot bigint primary key,
    blockhash text not null unique,
    parent_slot bigint not null check (parent_slot < slot),
    previous_blockhash text not null,
    height bigint not null unique,
    time bigint
  )`,
  sql`create table staged_range (
    from_slot bigint primary key,
    to_slot bigint not null check (to_slot >= from_slot),
    parent_slot bigint not null,
    previous_blockhash text not null,
    blocks json not null,
    staged_at timestamptz not null default now()
  )`,
  // A staged range is written once, read once and deleted, so compressing it costs more than it saves.
  sql`alter table staged_range alter column blocks set storage external`,
  sql`create index staged_range_by_parent on staged_range (parent_slot, previous_blockhash)`,
  sql`create table scan_gap (
    from_slot bigint not null,
    to_slot bigint not null check (to_slot >= from_slot),
    blockhash text not null,
    height bigint not null,
    state text not null check (state in ('open', 'filled', 'closed')),
    opened_at timestamptz not null default now(),
    ended_at timestamptz,
    actor text,
    reason text,
    read_at timestamptz, -- when a rescan had received all blocks of this closed gap from a quorum of nodes
    primary key (from_slot, to_slot),
    check ((state = 'open') = (ended_at is null)),
    check ((state = 'closed') = (actor is not null) and (actor is null) = (reason is null)),
    check (read_at is null or state = 'closed')
  )`,
  sql`create unique index scan_gap_one_open on scan_gap (state) where state = 'open'`,
  sql`create table backfill (
    position bigint generated always as identity primary key,
    address text, -- audited address; null for a rescan, which reads whole blocks for all wallets
    repair boolean not null check (repair or address is not null), -- whether missing deposits are recorded
    from_slot bigint not null,
    to_slot bigint not null check (to_slot >= from_slot),
    actor text not null,
    reason text not null,
    run text, -- workflow run that last continued the backfill
    begun_at timestamptz not null default now(),
    read_to bigint, -- slot up to which all blocks are read, except in gaps
    blocks integer not null default 0,
    found integer not null default 0,
    unread jsonb not null default '[]', -- slots of closed gaps whose blocks nodes did not return
    report jsonb check (report is null or address is not null),
    trouble text, -- error of the latest try; null after progress
    retry_after timestamptz, -- earliest time of the next run; null: at once
    ended_at timestamptz
  )`,
  sql`create unique index backfill_one_open on backfill (coalesce(address, ''), from_slot, to_slot, repair)
    where ended_at is null`,
]);
