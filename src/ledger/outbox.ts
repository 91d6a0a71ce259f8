import { randomUUID } from 'node:crypto';
import { type Selectable, sql, type Transaction } from 'kysely';
import { eventOfStatus, topicsOf, type WebhookEventType } from '../domain/webhook.ts';
import type { Tables } from './database.ts';
import { toJson } from './to-json.ts';

/** Something that happened, as the endpoints hear of it. */
export interface OutboxEvent {
  readonly type: WebhookEventType;
  /** The thing that it happened to, as `withdrawal/<id>`: its events are told in the order in which they were written. */
  readonly entity: string;
  /** JSON; bigint becomes a decimal string. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Puts an event out for every endpoint that asks for it, in the transaction of what it tells: both are there, or neither. Where no
 * endpoint asks, nothing is written. The transaction must hold a lock on the entity, so that its events are numbered as they commit.
 */
export async function writeEvent(
  trx: Transaction<Tables>,
  { type, entity, data }: OutboxEvent,
): Promise<void> {
  const id = `evt_${randomUUID()}`;
  const body = toJson({ type, timestamp: new Date().toISOString(), data });
  // The lock on the endpoint's key waits for one who deletes it, who else would break this transaction.
  await sql`
    with asking as (
      select id from webhook_endpoint
      where disabled_at is null and events && ${topicsOf(type)}::text[]
      for key share
    ), event as (
      insert into webhook_event (id, type, entity, body)
      select ${id}, ${type}, ${entity}, ${body} where exists (select from asking)
      returning sequence
    )
    insert into webhook_delivery (endpoint, sequence, entity)
    select asking.id, event.sequence, ${entity} from asking, event`.execute(trx);
}

/** Tells that the withdrawal has come to where it is now. */
export async function tellWithdrawal(
  trx: Transaction<Tables>,
  stored: Selectable<Tables['withdrawal']>,
  signature: string | null,
): Promise<void> {
  const { id, status, asset, amount, amountReceived, destination, memo, updatedAt } = stored;
  const type = eventOfStatus(status);
  if (type === null) return;
  const { reasonCode: code, reasonMessage: message } = stored;
  const reason = code === null || message === null ? null : { code, message };
  const data = {
    id,
    status,
    reason,
    asset,
    amount,
    amountReceived,
    destination,
    memo,
    signature,
    updatedAt,
  };
  await writeEvent(trx, { type, entity: `withdrawal/${id}`, data });
}
