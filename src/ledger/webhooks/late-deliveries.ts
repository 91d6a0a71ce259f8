import { sql, type Transaction } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import type { Database, Tables } from '../database.ts';
import { keepOnlyAlerts } from '../operations/alerts.ts';
import { type EndpointBacklog, NOTHING_WAITS, readBacklogs } from './delivery-status.ts';

/** First tries take minutes: an endpoint without the event by then is down, refuses it, or is too slow. */
const LATE_AFTER_MINUTES = 15;
const BEHIND = 'webhook_behind' as const;

interface Late {
  readonly id: string;
  readonly url: string;
  readonly since: Date;
}

/** Raises an alert about each endpoint whose oldest event has waited for too long; closes all others. */
export async function tellOfLate(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const late = await lateIn(trx);
    const standings = late.length === 0 ? new Map<string, EndpointBacklog>() : await readBacklogs(trx);
    await keepOnlyAlerts(
      trx,
      [BEHIND],
      late.map((one) => alarmOf(one, standings.get(one.id) ?? NOTHING_WAITS)),
    );
  });
}

/** Disabled endpoints have an alert of their own. */
async function lateIn(trx: Transaction<Tables>): Promise<readonly Late[]> {
  return trx
    .selectFrom('webhookEndpoint as endpoint')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('webhookDelivery')
          .select('sequence')
          .whereRef('endpoint', '=', 'endpoint.id')
          .where('state', '=', 'waiting')
          .orderBy('sequence')
          .limit(1)
          .as('oldest'),
      (join) => join.onTrue(),
    )
    .innerJoin('webhookEvent as event', 'event.sequence', 'oldest.sequence')
    .select(['endpoint.id', 'endpoint.url', 'event.createdAt as since'])
    .where('endpoint.disabledAt', 'is', null)
    .where('event.createdAt', '<', sql<Date>`now() - make_interval(mins => ${LATE_AFTER_MINUTES})`)
    .execute();
}

function alarmOf({ id, url, since }: Late, standing: EndpointBacklog): Alarm {
  const { waiting, dead, lastError } = standing;
  const reason =
    lastError === null ? 'no try has failed: they wait for one another, or no worker runs' : lastError;
  // The host alone: other endpoints receive alerts, and the URL may be a receiver's only secret.
  const message = `${waiting} events wait for the webhook ${id} at ${new URL(url).host}, the oldest since ${since.toISOString()}: ${reason}`;
  return { kind: BEHIND, subject: id, message, details: { waiting, dead, since: since.toISOString() } };
}
