import { sql } from 'kysely';

/** Slot of an import or an assignment: the newest one known to be final, whether its block was read or not. */
export const NEWEST_FINAL = sql<bigint>`(select greatest(slot, tip) from scan_cursor)`;

/** The user of a `deposit`: what a `deposit_address` received before its assignment belongs to no user. */
export const OWNER = sql<string | null>`case when deposit.slot > coalesce(deposit_address.assigned_after, -1)
  then deposit_address.user_ref end`;
