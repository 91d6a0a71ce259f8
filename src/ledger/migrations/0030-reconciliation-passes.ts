import { type Kysely, sql } from 'kysely';

/** What a pass through all wallets has come to, and what keeps it; of the last one that ended, too. */
export const reconciliationPasses = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table reconciliation
    add column wallets bigint not null default 0,
    add column accounts bigint not null default 0,
    add column differences bigint not null default 0,
    add column from_slot bigint,
    add column to_slot bigint,
    add column halted_because text`,
  sql`create table reconciled_pass (
    one boolean primary key default true check (one),
    begun_at timestamptz not null,
    ended_at timestamptz not null default now(),
    wallets bigint not null,
    accounts bigint not null,
    differences bigint not null,
    from_slot bigint,
    to_slot bigint
  )`,
  // Nobody counted what the pass under way has compared: it begins again, and a page that is compared meanwhile is not taken.
  sql`update reconciliation set begun_at = now(), after = null, pages = pages + 1`,
];
