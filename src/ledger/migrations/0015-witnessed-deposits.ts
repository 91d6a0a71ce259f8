import { type Kysely, sql } from 'kysely';

/** A deposit is pending, with the reason that one node's block gives against it, until a quorum has judged it. */
export const witnessedDeposits = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table deposit drop constraint deposit_check, drop constraint deposit_check1`,
  sql`alter table deposit add constraint deposit_reason check (
    case state when 'not_credited' then reason is not null when 'pending' then true else reason is null end
  )`,
  sql`alter table deposit add constraint deposit_witnessed check (
    case state when 'final' then confirmed_by is not null when 'not_credited' then true else confirmed_by is null end
  )`,
];
