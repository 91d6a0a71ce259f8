import { type Kysely, sql } from 'kysely';

/**
 * Slots of which no quorum of nodes has shown the blocks: what was audited over them is not settled, and waits longer from look to look.
 * Gaps that were audited before are audited again, as that was not asked for.
 */
export const unshownSlots = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`alter table scan_gap
    add column unshown_since timestamptz,
    add column audit_after timestamptz,
    add check (audited_at is null or unshown_since is null)`,
  sql`update scan_gap set audited_at = null, walked_at = null where state = 'closed'`,
  sql`alter table deposit_address
    add column unread_since timestamptz,
    add column audit_after timestamptz`,
];
