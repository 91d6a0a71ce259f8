import { type Kysely, sql } from 'kysely';

/** How far the chain was final, read or not, and how far it was when each address was given to its user: null for those of before. */
export const assignedAfter = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table scan_cursor add column tip bigint`.execute(db);
    await sql`alter table deposit_address add column assigned_after bigint`.execute(db);
  },
};
