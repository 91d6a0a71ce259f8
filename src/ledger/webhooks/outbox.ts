import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { topicsOf, type WebhookEventType } from '../../domain/webhook.ts';
import { exists, type Trx, toJson } from '../database.ts';

export interface OutboxEvent {
  readonly type: WebhookEventType;
  /** The changed object, such as `withdrawal/<id>`. Its events are delivered in the order in which they are written. */
  readonly entity: string;
  /** Content of the event; sent as JSON, with bigint as decimal strings. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** True if an enabled endpoint subscribes to any of these types. If not, callers can skip reading the events' data. */
export async function hasSubscriber(trx: Trx, types: readonly WebhookEventType[]): Promise<boolean> {
  const topics = [...new Set(types.flatMap(topicsOf))];
  return exists(
    trx
      .selectFrom('webhookEndpoint')
      .select('id')
      .where('disabledAt', 'is', null)
      .where(sql<boolean>`events && ${topics}::text[]`)
      .limit(1),
  );
}

export async function writeEvent(trx: Trx, event: OutboxEvent): Promise<void> {
  await writeEvents(trx, [event]);
}

/**
 * Writes events for every subscribed endpoint in the transaction of the change, so that both are committed or neither.
 * The transaction must hold a lock on each entity, so that the sequence of its events is the order of their commits.
 */
export async function writeEvents(trx: Trx, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  const timestamp = new Date().toISOString();
  const input = events.map(({ type, entity, data }, position) => ({
    position,
    id: `evt_${randomUUID()}`,
    type,
    entity,
    topics: topicsOf(type),
    body: toJson({ type, timestamp, data }),
  }));
  const topics = [...new Set(input.flatMap((event) => event.topics))];
  // `for key share` waits for a transaction that deletes an endpoint; without it, the foreign key would reject the
  // insert.
  await sql`
    with input as materialized (
      select * from jsonb_to_recordset(${toJson(input)}::jsonb)
        as event(position int, id text, type text, entity text, topics text[], body text)
    ), subscriber as materialized (
      select id, events from webhook_endpoint
      where disabled_at is null and events && ${topics}::text[]
      for key share
    ), event as (
      insert into webhook_event (id, type, entity, body)
      select id, type, entity, body from input
      where exists (select from subscriber where subscriber.events && input.topics)
      order by position
      returning id, sequence
    )
    insert into webhook_delivery (endpoint, sequence, entity)
    select subscriber.id, event.sequence, input.entity
    from event join input using (id) join subscriber on subscriber.events && input.topics`.execute(trx);
}
