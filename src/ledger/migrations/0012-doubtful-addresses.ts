import { type Kysely, sql } from 'kysely';

/** What a restored record may have forgotten of addresses and events, and audits of addresses in every state. */
export const doubtfulAddresses = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table deposit_address drop constraint deposit_address_state_check`,
  sql`alter table deposit_address add constraint deposit_address_state_check
    check (state in ('auditing', 'free', 'assigned', 'used', 'doubtful'))`,
  sql`alter table deposit_address add column audit_due boolean not null default false check (not audit_due or since is not null)`,
  sql`update deposit_address set audit_due = true where state = 'auditing'`,
  sql`drop index deposit_address_auditing`,
  sql`create index deposit_address_audit_due on deposit_address (position) where audit_due`,
  sql`create index deposit_address_doubtful on deposit_address (position) where state = 'doubtful'`,
  sql`alter table deposit_feed add column renumbered_for text`,
];
