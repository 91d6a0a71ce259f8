import { type Kysely, sql } from 'kysely';

/** From where on the spends of a hot wallet are ours to judge, and which of those that the scan saw are judged. */
export const judgedSpends = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table wallet_history add column from_slot bigint`,
  sql`update wallet_history set from_slot = judged_to_slot`,
  sql`alter table wallet_history alter column from_slot set not null`,
  sql`alter table spend add column judged boolean not null default false`,
  sql`create index spend_unjudged on spend (wallet, slot) where not judged`,
];
