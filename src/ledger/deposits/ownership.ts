import { sql } from 'kysely';

/** The slot of now, for whoever imports an address or is given one: the newest known to be final, whether its block was read or not. */
export const NEWEST_FINAL = sql<bigint>`(select greatest(slot, tip) from scan_cursor)`;

/** Whose a `deposit` is: what came to a `deposit_address` before it was given to its user is nobody's. */
export const OWNER = sql<string | null>`case when deposit.slot > coalesce(deposit_address.assigned_after, -1)
  then deposit_address.user_ref end`;
