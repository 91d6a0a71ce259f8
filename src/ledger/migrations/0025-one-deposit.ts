import { type Kysely, sql } from 'kysely';

/**
 * One row for each deposit, announced or not: what another block of its slot had announced is the deposit itself. And the list of one
 * asset's deposits is read by an index.
 */
export const oneDeposit = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

/** Announcements beside the row that stands for their deposit: the finalized one, else the first. */
const TWINS = sql`
  select twin.id, kept.id as kept
  from deposit twin
  cross join lateral (
    select one.id from deposit one
    where one.signature = twin.signature and one.slot = twin.slot and one.account = twin.account and one.asset = twin.asset
    order by one.finalized_at is null, one.id
    limit 1
  ) kept
  where twin.finalized_at is null and twin.id <> kept.id`;

const STATEMENTS = [
  sql`update deposit_event set deposit_id = twin.kept from (${TWINS}) twin where deposit_id = twin.id`,
  sql`delete from deposit using (${TWINS}) twin where deposit.id = twin.id`,
  sql`alter table deposit drop constraint deposit_key`,
  sql`drop index deposit_finalized_once`,
  sql`alter table deposit add constraint deposit_key unique (signature, slot, account, asset)`,
  sql`create index deposit_by_asset on deposit (asset, id)`,
];
