import { type Kysely, sql } from 'kysely';

/** What came of each rescan stays on record; how far one is outlives the worker that reads. */
export const rescanResults = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table rescan drop constraint rescan_pkey`,
  sql`alter table rescan
    add column position bigint generated always as identity primary key,
    add column tried_at timestamptz not null default now(),
    add column read_to bigint,
    add column blocks integer not null default 0,
    add column found integer not null default 0,
    add column trouble text,
    add column ended_at timestamptz`,
  sql`create unique index rescan_one_open on rescan (from_slot, to_slot) where ended_at is null`,
];
