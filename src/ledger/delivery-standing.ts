import { sql } from 'kysely';
import type { Database } from './database.ts';

/** What an endpoint has not heard yet. */
export interface Standing {
  /** Events that wait for it. */
  readonly waiting: number;
  readonly dead: number;
  /** What the newest failed try came to of those that wait or are dead; null where none has failed. */
  readonly lastError: string | null;
}

export const NOTHING_WAITS: Standing = { waiting: 0, dead: 0, lastError: null };

/** Of every endpoint that has not heard all. Reads no row of what was delivered. */
export async function readStandings(db: Database): Promise<ReadonlyMap<string, Standing>> {
  const { rows } = await sql<Standing & { readonly endpoint: string }>`
    select endpoint, sum(waiting)::int as waiting, sum(dead)::int as dead,
        (array_agg(error order by at desc nulls last) filter (where error is not null))[1] as "lastError"
    from (
      select endpoint, count(*) as waiting, 0 as dead,
          (array_agg(last_error order by handed_at desc nulls last) filter (where attempts > 0))[1] as error,
          max(handed_at) filter (where attempts > 0) as at
        from webhook_delivery where state = 'waiting' group by endpoint
      union all
      select endpoint, 0, count(*), (array_agg(last_error order by settled_at desc))[1], max(settled_at)
        from webhook_delivery where state = 'dead' group by endpoint
    ) part group by endpoint`.execute(db);
  return new Map(rows.map(({ endpoint, ...standing }) => [endpoint, standing]));
}
