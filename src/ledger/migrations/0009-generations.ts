import { type Kysely, sql } from 'kysely';

/** Counts the gaps that have ended, so that each attempt tells whether the record has lost anything since it was written. */
export const generations = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table continuity add column generation integer not null default 0`,
  sql`alter table attempt add column generation integer not null default 0`,
];
