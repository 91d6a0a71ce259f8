import { type Kysely, sql } from 'kysely';

/** What nodes did not show of closed gaps when a rescan read them. */
export const unreadRescans = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table rescan add column unread jsonb not null default '[]'`.execute(db);
  },
};
