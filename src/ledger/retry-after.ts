import { type RawBuilder, sql } from 'kysely';

/**
 * When to look again at what stands as it does since `since`: after as long as that is, so that the pauses double, and an hour at most;
 * null where it does not stand.
 */
export function nextLook(since: RawBuilder<unknown>): RawBuilder<Date | null> {
  return sql<Date | null>`case when ${since} is not null then now() + least(now() - ${since}, interval '1 hour') end`;
}
