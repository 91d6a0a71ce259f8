/** So many are signed and sent within the life of a blockhash, even where that takes a second each. */
export const MOST_UNSENT = 32;
/** One that dies for other reasons must not stop all. */
const FEWEST_UNSENT = 2;

/**
 * How many attempts may be prepared and not yet sent, by the newest that have ended: the more of them died, the fewer get on their way in
 * time, and the fewer are begun. With as many as land it grows again.
 */
export function unsentAllowed({ ended, dead }: { readonly ended: number; readonly dead: number }): number {
  if (ended === 0) return MOST_UNSENT;
  return Math.max(FEWEST_UNSENT, Math.round((MOST_UNSENT * (ended - dead)) / ended));
}
