import { type Kysely, sql } from 'kysely';

/** Up to which address of the pool a restored record may have forgotten who has it: one number, however many they are. */
export const doubtfulPositions = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table continuity add column doubtful_up_to bigint not null default 0`.execute(db);
  },
};
