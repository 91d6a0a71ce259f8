import { type Kysely, sql } from 'kysely';

/** What may be credited is asked of a quorum before what is not to be, such as dust; the newest of it, too. */
export const creditsFirst = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`drop index deposit_unconfirmed`,
  sql`create index deposit_unconfirmed on deposit ((reason is not null), id)
    where state = 'pending' and finalized_at is not null`,
  sql`create index deposit_unconfirmed_credit on deposit (id)
    where state = 'pending' and finalized_at is not null and reason is null`,
];
