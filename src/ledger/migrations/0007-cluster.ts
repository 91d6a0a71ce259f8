import { type Kysely, sql } from 'kysely';

/** The one cluster that this record belongs to, how much of its ledger each node showed, and what each worker sees of the nodes. */
export const cluster = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table cluster (
    one boolean primary key default true check (one),
    genesis_hash text not null,
    bound_at timestamptz not null default now()
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
];
