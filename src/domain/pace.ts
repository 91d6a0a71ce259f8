/** So many are signed and sent within the life of a blockhash, even where that takes a second each. */
export const MOST_UNSENT = 32;
/** One that dies for other reasons must not stop all; nor must as many as there may be that wait for their signer for days. */
const FEWEST_UNSENT = 2;

/** Attempts that are prepared and not on their way: `living`, and `overdue` ones since the signer has last signed any. */
export interface Unsent {
  readonly living: number;
  readonly overdue: number;
}

/** The newest attempts that have ended. */
export interface Ends {
  readonly ended: number;
  readonly dead: number;
}

/**
 * How many attempts may be prepared and not yet sent, by the newest that have ended: the more of them died, the fewer get on their way in
 * time, and the fewer are begun. With as many as land it grows again.
 */
export function unsentAllowed({ ended, dead }: Ends): number {
  if (ended === 0) return MOST_UNSENT;
  return Math.max(FEWEST_UNSENT, Math.round((MOST_UNSENT * (ended - dead)) / ended));
}

/** Whether another attempt may begin. A few may always live: else nobody would learn that the signer signs again. */
export function mayBegin({ living, overdue }: Unsent, ends: Ends): boolean {
  return living < FEWEST_UNSENT || living + overdue < unsentAllowed(ends);
}
