import { type Kysely, sql } from 'kysely';

/** Whose turn it is to be audited, and the wallets that nodes did not show whole over a gap: they alone are asked for again. */
export const auditTurns = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table deposit_address add column audit_tried_at timestamptz`,
  sql`drop index deposit_address_audit_due`,
  sql`create index deposit_address_audit_due on deposit_address (audit_tried_at nulls first, position) where audit_due`,
  sql`alter table scan_gap add column walked_at timestamptz check (audited_at is null or walked_at is not null)`,
  sql`update scan_gap set walked_at = audited_at`,
  sql`create table gap_unread_wallet (
    from_slot bigint not null,
    to_slot bigint not null,
    wallet text not null,
    primary key (from_slot, to_slot, wallet)
  )`,
];
