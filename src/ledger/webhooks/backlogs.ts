import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { syncOpenAlerts } from '../operations/alerts.ts';

/** Undelivered events of an endpoint. */
export interface EndpointBacklog {
  /** Number of waiting events, counted up to {@link MAX_COUNTED}; so is `dead`. */
  readonly waiting: number;
  readonly dead: number;
  /** Error of the newest failed try among waiting and dead deliveries; null if no try has failed. */
  readonly lastError: string | null;
}

interface BacklogRow extends EndpointBacklog {
  readonly endpoint: string;
  readonly url: string;
  readonly disabledAt: Date | null;
  /** Time of the oldest waiting event; null if no event waits. */
  readonly since: Date | null;
  readonly isLate: boolean | null;
}

export const EMPTY_BACKLOG: EndpointBacklog = { waiting: 0, dead: 0, lastError: null };

/** An endpoint that is down for a day can have millions of events, so an exact count would be slow. */
const MAX_COUNTED = 100_000;
/**
 * Longer than the first tries of an event: an endpoint that is later than this is down, too slow, or refuses the event.
 */
const LATE_AFTER_MINUTES = 15;
const ALERT_KIND = 'webhook_behind' as const;

/** Reads a row for every endpoint with undelivered events. Each subquery reads a bounded part of an index. */
async function readRows(db: Database): Promise<readonly BacklogRow[]> {
  const { rows } = await sql<BacklogRow>`
    select endpoint.id as endpoint, endpoint.url as url, endpoint.disabled_at as "disabledAt",
      waiting.count as waiting, dead.count as dead, newest.error as "lastError", oldest.since as since,
      oldest.since < now() - make_interval(mins => ${LATE_AFTER_MINUTES}) as "isLate"
    from webhook_endpoint endpoint
    left join lateral (select event.created_at as since from webhook_delivery delivery
      join webhook_event event on event.sequence = delivery.sequence
      where delivery.endpoint = endpoint.id and delivery.state = 'waiting'
      order by delivery.sequence limit 1) oldest on true
    cross join lateral (select count(*)::int as count from (select from webhook_delivery
      where endpoint = endpoint.id and state = 'waiting' limit ${MAX_COUNTED}) counted) waiting
    cross join lateral (select count(*)::int as count from (select from webhook_delivery
      where endpoint = endpoint.id and state = 'dead' limit ${MAX_COUNTED}) counted) dead
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
  return rows;
}

export async function readBacklogs(db: Database): Promise<ReadonlyMap<string, EndpointBacklog>> {
  const rows = await readRows(db);
  return new Map(
    rows.map(({ endpoint, waiting, dead, lastError }) => [endpoint, { waiting, dead, lastError }]),
  );
}

/** Raises `webhook_behind` for each enabled endpoint whose oldest event has waited too long, and closes all others. */
export async function updateLateAlerts(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // A disabled endpoint has the alert `webhook_disabled` instead.
    const lateRows = (await readRows(trx)).filter(({ isLate, disabledAt }) => isLate && disabledAt === null);
    await syncOpenAlerts(trx, [ALERT_KIND], lateRows.map(alarmOf));
  });
}

function alarmOf({ endpoint, url, since, waiting, dead, lastError }: BacklogRow) {
  const reason = lastError ?? 'no try has failed: the endpoint is slow, or no worker is running';
  const oldest = since?.toISOString();
  // Contains only the host: other endpoints receive alerts too, and the URL can be a receiver's only secret.
  const message = `${waiting} events wait for the webhook ${endpoint} at ${new URL(url).host}, the oldest since ${oldest}: ${reason}`;
  return { kind: ALERT_KIND, subject: endpoint, message, details: { waiting, dead, since: oldest } };
}
