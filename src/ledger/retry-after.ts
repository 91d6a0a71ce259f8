import { type RawBuilder, sql } from 'kysely';

/**
 * When to retry a condition that has lasted since `since`: after the same time again, at most an hour, so that the
 * intervals double. Null if `since` is null.
 */
export function nextLook(since: RawBuilder<unknown>): RawBuilder<Date | null> {
  return sql<Date | null>`case when ${since} is not null then now() + least(now() - ${since}, interval '1 hour') end`;
}
