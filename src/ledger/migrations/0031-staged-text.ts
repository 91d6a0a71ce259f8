import { type Kysely, sql } from 'kysely';

/** What a staged range holds is written once, read whole once and gone: it is kept as the text that it came as. */
export const stagedText = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table staged_range alter column blocks type json using blocks::json`,
  // Compressing it would take longer than all else.
  sql`alter table staged_range alter column blocks set storage external`,
];
