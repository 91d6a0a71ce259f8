import { type Kysely, sql } from 'kysely';

/** How what one node made up ends: deposits by the word of an operator and a quorum, outflows by that of a quorum. */
export const phantoms = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  // A deposit of a finalized block may be dropped now.
  sql`alter table deposit drop constraint deposit_check3`,
  sql`create table deposit_rejection (
    position bigint generated always as identity primary key,
    deposit_id bigint not null references deposit (id),
    who text not null,
    why text not null,
    denied_by text not null,
    at timestamptz not null default now()
  )`,
  sql`create index deposit_rejection_of on deposit_rejection (deposit_id)`,
  // What is on record by now was counted all the time; what comes is asked for.
  sql`alter table outflow add column witness_due boolean not null default false, add column witnessed_by text`,
  sql`alter table outflow alter column witness_due set default true`,
  sql`create index outflow_witness_due on outflow (slot, signature, account, asset) where witness_due`,
];
