import { type Kysely, sql } from 'kysely';

/** The newest attempts that have ended, by which preparations keep their pace. */
export const endedAttempts = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index attempt_ended on attempt (created_at) where state in ('landed', 'failed', 'dead')`.execute(
      db,
    );
  },
};
