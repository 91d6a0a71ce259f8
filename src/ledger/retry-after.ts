import { type RawBuilder, sql } from 'kysely';

/** SQL for the time of the next retry: in as long as the condition has lasted since `since`, at most in one hour. */
export function nextRetryAt(since: RawBuilder<unknown>): RawBuilder<Date | null> {
  return sql<Date | null>`case when ${since} is not null then now() + least(now() - ${since}, interval '1 hour') end`;
}
