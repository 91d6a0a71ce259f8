import { type Kysely, sql } from 'kysely';

/** Whether an import since a slot is still to be audited is asked after each audit. */
export const importsSince = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index deposit_address_due_since on deposit_address (since) where audit_due`.execute(db);
  },
};
