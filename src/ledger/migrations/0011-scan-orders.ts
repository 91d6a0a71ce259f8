import { type Kysely, sql } from 'kysely';

/** What people order of the scan, how far its headers are pruned, and since when a spend waits to be judged. */
export const scanOrders = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table scan_pause (
    position bigint generated always as identity primary key,
    who text not null,
    why text not null,
    since timestamptz not null default now(),
    ended_at timestamptz,
    ended_by text,
    ended_why text,
    check ((ended_at is null) = (ended_by is null) and (ended_by is null) = (ended_why is null))
  )`,
  sql`create unique index scan_pause_one_open on scan_pause ((true)) where ended_at is null`,
  sql`create table rescan (
    from_slot bigint not null,
    to_slot bigint not null check (to_slot >= from_slot),
    who text not null,
    why text not null,
    begun_at timestamptz not null default now(),
    primary key (from_slot, to_slot)
  )`,
  sql`alter table scan_cursor add column pruned_to bigint`,
  sql`alter table spend add column seen_at timestamptz not null default now()`,
];
