import { type Kysely, sql } from 'kysely';

/** A run that is tried again after its end was put on record is told what that was. */
export const rescanRuns = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table rescan add column run text`.execute(db);
  },
};
