import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { topicsOf, type WebhookEventType } from '../../domain/webhook.ts';
import { exists, type Trx, toJson } from '../database.ts';

export interface OutboxEvent {
  readonly type: WebhookEventType;
  /** The changed object, as `withdrawal/<id>`; its events are delivered in the order of their writes. */
  readonly entity: string;
  /** JSON; bigint becomes a decimal string. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** True if an enabled endpoint subscribes to any of these types; else their data need not be read. */
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
 * Writes events, in their order, for every subscribed endpoint, in the transaction of the change: both are
 * committed, or neither. The transaction must hold a lock on each entity, so that its events are numbered as they
 * commit.
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
  // The lock on the endpoint's key waits for a transaction that deletes it, which would otherwise break this one.
  await sql`
    with input as materialized (
      select * from jsonb_to_recordset(${toJson(input)}::jsonb)
        as event(position int, id text, type text, entity text, topics text[], body text)
    ), asking as materialized (
      select id, events from webhook_endpoint
      where disabled_at is null and events && ${topics}::text[]
      for key share
    ), event as (
      insert into webhook_event (id, type, entity, body)
      select id, type, entity, body from input
      where exists (select from asking where asking.events && input.topics)
      order by position
      returning id, sequence
    )
    insert into webhook_delivery (endpoint, sequence, entity)
    select asking.id, event.sequence, input.entity
    from event join input using (id) join asking on asking.events && input.topics`.execute(trx);
}
