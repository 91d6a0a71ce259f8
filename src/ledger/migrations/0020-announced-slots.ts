import { type Kysely, sql } from 'kysely';

/** One node may announce a true block at a slot that is not its own: its deposits must not stand in the way of the true ones. */
export const announcedSlots = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table deposit drop constraint deposit_key`,
  sql`alter table deposit add constraint deposit_key unique (signature, slot, blockhash, account, asset)`,
];
