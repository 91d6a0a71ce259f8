import { type Kysely, sql } from 'kysely';

/** Nonces that attempts may carry which only a lost record knew, and to which copy of the record the end of a gap belongs. */
export const lostNonces = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table lost_nonce (
    address text primary key references nonce_account (address),
    nonce text not null,
    slot bigint not null
  )`,
  sql`alter table continuity
    add column quarantine_identity text,
    add column nonces_settled boolean not null default false`,
];
