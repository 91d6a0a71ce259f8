import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { syncOpenAlerts } from '../operations/alerts.ts';

/** What an endpoint has not received yet. */
export interface EndpointBacklog {
  /** Events that wait for it, counted up to {@link COUNTED}. */
  readonly waiting: number;
  readonly dead: number;
  /** The error of the newest failed try among waiting and dead deliveries; null if none has failed. */
  readonly lastError: string | null;
}

interface BacklogRow extends EndpointBacklog {
  readonly endpoint: string;
  readonly url: string;
  readonly disabledAt: Date | null;
  /** Time of the oldest waiting event; null if none waits. */
  readonly since: Date | null;
  readonly isLate: boolean | null;
}

export const EMPTY_BACKLOG: EndpointBacklog = { waiting: 0, dead: 0, lastError: null };

/** An endpoint that is down for a day has millions of events: their exact number is of no use. */
const COUNTED = 100_000;
/** First tries take minutes: an endpoint without the event by then is down, refuses it, or is too slow. */
const LATE_AFTER_MINUTES = 15;
const BEHIND = 'webhook_behind' as const;

/** For every endpoint that has not received all events. Each part is a bounded read of an index. */
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
  return rows;
}

export async function readBacklogs(db: Database): Promise<ReadonlyMap<string, EndpointBacklog>> {
  const rows = await readRows(db);
  return new Map(
    rows.map(({ endpoint, waiting, dead, lastError }) => [endpoint, { waiting, dead, lastError }]),
  );
}

/** Raises an alert about each endpoint whose oldest event has waited for too long; closes all others. */
export async function raiseLateAlerts(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Disabled endpoints have an alert of their own.
    const late = (await readRows(trx)).filter(({ isLate, disabledAt }) => isLate && disabledAt === null);
    await syncOpenAlerts(trx, [BEHIND], late.map(alarmOf));
  });
}

function alarmOf({ endpoint, url, since, waiting, dead, lastError }: BacklogRow) {
  const reason = lastError ?? 'no try has failed: the events wait behind each other, or no worker runs';
  const oldest = since?.toISOString();
  // The host alone: other endpoints receive alerts, and the URL may be a receiver's only secret.
  const message = `${waiting} events wait for the webhook ${endpoint} at ${new URL(url).host}, the oldest since ${oldest}: ${reason}`;
  return { kind: BEHIND, subject: endpoint, message, details: { waiting, dead, since: oldest } };
}
