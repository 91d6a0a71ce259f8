import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** What an endpoint has not received yet. */
export interface EndpointBacklog {
  /** Events that wait for it, counted up to {@link COUNTED}. */
  readonly waiting: number;
  readonly dead: number;
  /** The error of the newest failed try among waiting and dead deliveries; null if none has failed. */
  readonly lastError: string | null;
}

export const NOTHING_WAITS: EndpointBacklog = { waiting: 0, dead: 0, lastError: null };

/** An endpoint that is down for a day has millions of events: their exact number is of no use. */
const COUNTED = 100_000;

/** For every endpoint that has not received all events. Each part is a bounded read of an index. */
export async function readBacklogs(db: Database): Promise<ReadonlyMap<string, EndpointBacklog>> {
  const { rows } = await sql<EndpointBacklog & { readonly endpoint: string }>`
    select endpoint.id as endpoint, waiting.count as waiting, dead.count as dead, newest.error as "lastError"
    from webhook_endpoint endpoint
    cross join lateral (select count(*)::int as count from (select from webhook_delivery
      where endpoint = endpoint.id and state = 'waiting' limit ${COUNTED}) counted) waiting
    cross join lateral (select count(*)::int as count from (select from webhook_delivery
      where endpoint = endpoint.id and state = 'dead' limit ${COUNTED}) counted) dead
    left join lateral (
      (select last_error as error, handed_at as at from webhook_delivery
        where endpoint = endpoint.id and state = 'waiting' and attempts > 0
        order by handed_at desc nulls last limit 1)
      union all
      (select last_error, settled_at from webhook_delivery
        where endpoint = endpoint.id and state = 'dead' order by settled_at desc nulls last limit 1)
      order by at desc nulls last limit 1
    ) newest on true
    where waiting.count > 0 or dead.count > 0`.execute(db);
  return new Map(rows.map(({ endpoint, ...standing }) => [endpoint, standing]));
}
