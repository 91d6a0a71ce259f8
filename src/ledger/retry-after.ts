import { type RawBuilder, sql } from 'kysely';

/** When to retry a condition that began at `since` (null: never): after as long again, at most one hour. */
export function nextRetryAt(since: RawBuilder<unknown>): RawBuilder<Date | null> {
  return sql<Date | null>`case when ${since} is not null then now() + least(now() - ${since}, interval '1 hour') end`;
}
