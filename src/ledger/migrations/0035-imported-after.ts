import { type Kysely, sql } from 'kysely';

/** How far the chain was final when an address was imported with a past: nobody has it before the scan has come there. */
export const importedAfter = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table deposit_address add column imported_after bigint`.execute(db);
    await sql`update deposit_address set imported_after = (select greatest(slot, tip) from scan_cursor)
      where audit_due`.execute(db);
  },
};
