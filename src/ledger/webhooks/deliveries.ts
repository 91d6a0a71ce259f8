import { sql } from 'kysely';
import type { DeliveryKey, DeliveryLine, DeliveryState } from '../../domain/webhook.ts';
import { type Database, Repository, type RowOf } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { type EndpointBacklog, readBacklogs, updateLateAlerts } from './backlogs.ts';
import { MAX_BATCH_ROWS, replayDead } from './dead-letters.ts';

/** A delivery of one event to one endpoint, with the event's id, type and time. */
export type DeliveryRow = RowOf<'webhookDelivery'> & Pick<RowOf<'webhookEvent'>, 'id' | 'type' | 'createdAt'>;

/** A waiting delivery. `attempts`: number of failed tries. `disabledBecause`: null if the endpoint is enabled. */
export type DueDelivery = Pick<RowOf<'webhookEvent'>, 'id' | 'type' | 'body'> &
  Pick<RowOf<'webhookEndpoint'>, 'url' | 'disabledBecause'> &
  Pick<RowOf<'webhookDelivery'>, 'attempts'>;

/** A line with events that its workflow may not know; `upTo` is the sequence of the newest such event. */
export interface PendingLine extends DeliveryLine {
  readonly upTo: bigint;
}

export interface DeliveryFilter extends PageRequest {
  readonly endpoint: string;
  readonly state?: DeliveryState | undefined;
}

const MAX_LINES = 500;
/**
 * A line without activity since this time may have lost its workflow and is handed over again. If it only waits behind
 * a slow endpoint, the additional signal is harmless. Longer than the hour between two tries.
 */
const LOST_BEFORE = sql<Date>`now() - interval '2 hours'`;

const NOW = sql<Date>`now()`;
const ATTEMPTS_PLUS_ONE = sql<number>`attempts + 1`;

export class Deliveries extends Repository {
  /**
   * Lines with events that a workflow must be woken for, oldest first. Returned until {@link markHandedOver} is called.
   */
  async pendingLines(): Promise<readonly PendingLine[]> {
    const waitingDeliveries = this.db
      .selectFrom('webhookDelivery')
      .select(['endpoint', 'entity', 'sequence'])
      .where('state', '=', 'waiting');
    const unhandedDeliveries = waitingDeliveries
      .where('handedAt', 'is', null)
      .orderBy('sequence')
      .limit(MAX_LINES);
    const lostDeliveries = waitingDeliveries
      .where('handedAt', '<', LOST_BEFORE)
      .orderBy('handedAt')
      .limit(MAX_LINES);
    const lines = new Map<string, PendingLine>();
    for (const { endpoint, entity, sequence } of [
      ...(await lostDeliveries.execute()),
      ...(await unhandedDeliveries.execute()),
    ]) {
      const key = JSON.stringify([endpoint, entity]);
      const upTo = lines.get(key)?.upTo ?? sequence;
      lines.set(key, { endpoint, entity, upTo: sequence > upTo ? sequence : upTo });
    }
    return [...lines.values()];
  }

  /** Records that the workflow of the line knows its events up to `upTo`. */
  async markHandedOver({ endpoint, entity, upTo }: PendingLine): Promise<void> {
    await this.db
      .updateTable('webhookDelivery')
      .set({ handedAt: NOW })
      .where('endpoint', '=', endpoint)
      .where('entity', '=', entity)
      .where('state', '=', 'waiting')
      .where('sequence', '<=', upTo)
      .execute();
  }

  /** The delivery of the line's oldest waiting event; null if no event waits. */
  async nextInLine({ endpoint, entity }: DeliveryLine): Promise<DeliveryKey | null> {
    const row = await this.db
      .selectFrom('webhookDelivery as delivery')
      .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
      .select('event.id')
      .where('delivery.endpoint', '=', endpoint)
      .where('delivery.entity', '=', entity)
      .where('delivery.state', '=', 'waiting')
      .orderBy('delivery.sequence')
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? null : { endpoint, event: row.id };
  }

  /** The event to send; null if the delivery is no longer waiting, or if its endpoint is deleted. */
  async findDue({ endpoint, event }: DeliveryKey): Promise<DueDelivery | null> {
    const row = await this.db
      .selectFrom('webhookDelivery as delivery')
      .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
      .innerJoin('webhookEndpoint as endpoint', 'endpoint.id', 'delivery.endpoint')
      .select(['event.id', 'event.type', 'event.body', 'delivery.attempts'])
      .select(['endpoint.url', 'endpoint.disabledBecause'])
      .where('delivery.endpoint', '=', endpoint)
      .where('event.id', '=', event)
      .where('delivery.state', '=', 'waiting')
      .executeTakeFirst();
    return row ?? null;
  }

  async markDelivered(key: DeliveryKey): Promise<void> {
    await updateWaiting(this.db, key)
      .set({ state: 'delivered', settledAt: NOW, lastError: null, attempts: ATTEMPTS_PLUS_ONE })
      .execute();
  }

  /**
   * Records a failed try and returns the number of tries; null if the delivery is no longer waiting. Only the line's
   * running workflow calls this, so all events that were handed over to it count as handed over now.
   */
  async recordFailure(key: DeliveryKey, error: string): Promise<number | null> {
    return this.db.transaction().execute(async (trx) => {
      const updated = await updateWaiting(trx, key)
        .set({ lastError: error, attempts: ATTEMPTS_PLUS_ONE })
        .returning(['entity', 'attempts'])
        .executeTakeFirst();
      if (updated === undefined) return null;
      await trx
        .updateTable('webhookDelivery')
        .set({ handedAt: NOW })
        .where('endpoint', '=', key.endpoint)
        .where('entity', '=', updated.entity)
        .where('state', '=', 'waiting')
        .where('handedAt', 'is not', null)
        .execute();
      return updated.attempts;
    });
  }

  /** Marks the delivery as dead and raises an alert, in one transaction. `error` replaces the error of the last try. */
  async giveUp(key: DeliveryKey, error?: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const updated = await updateWaiting(trx, key)
        .set({ state: 'dead', settledAt: NOW, ...(error === undefined ? {} : { lastError: error }) })
        .returning(['entity', 'lastError'])
        .executeTakeFirst();
      if (updated === undefined) return;
      const reason = updated.lastError ?? 'no try has completed';
      const message = `event ${key.event} about ${updated.entity} was not delivered to webhook ${key.endpoint}: ${reason}`;
      const details = { event: key.event };
      await raiseAlert(trx, { kind: 'webhook_dead_letter', subject: key.endpoint, message, details });
    });
  }

  /** See {@link replayDead}. */
  replay(endpoint: string, eventId?: string): Promise<number> {
    return replayDead(this.db, endpoint, eventId);
  }

  /** Deletes all deliveries of the endpoint, in batches so that rows are locked only briefly. */
  async deleteAll(endpoint: string): Promise<void> {
    for (let deleted = MAX_BATCH_ROWS; deleted === MAX_BATCH_ROWS; ) {
      const { numDeletedRows } = await this.db
        .deleteFrom('webhookDelivery')
        .where('endpoint', '=', endpoint)
        .where((row) =>
          row(
            'sequence',
            'in',
            row
              .selectFrom('webhookDelivery')
              .select('sequence')
              .where('endpoint', '=', endpoint)
              .limit(MAX_BATCH_ROWS),
          ),
        )
        .executeTakeFirst();
      deleted = Number(numDeletedRows);
    }
  }

  /** Backlogs by endpoint id. Endpoints without waiting or dead deliveries are omitted. */
  backlogs(): Promise<ReadonlyMap<string, EndpointBacklog>> {
    return readBacklogs(this.db);
  }

  /** See {@link updateLateAlerts}. */
  updateLateAlerts(): Promise<void> {
    return updateLateAlerts(this.db);
  }

  /** Deliveries of an endpoint, newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: DeliveryFilter): Promise<Page<DeliveryRow>> {
    let query = this.db
      .selectFrom('webhookDelivery as delivery')
      .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
      .selectAll('delivery')
      .select(['event.id', 'event.type', 'event.createdAt', 'event.sequence as position'])
      .where('delivery.endpoint', '=', filter.endpoint)
      .where('delivery.sequence', '<', positionBefore(filter));
    if (filter.state !== undefined) query = query.where('delivery.state', '=', filter.state);
    return readPage(query.orderBy('delivery.sequence', 'desc'), filter);
  }

  /** Deletes a batch of events older than `days` that have no waiting or dead delivery. Returns their number. */
  async deleteOld(days: number): Promise<number> {
    return this.db.transaction().execute(async (trx) => {
      const oldEvents = await trx
        .selectFrom('webhookEvent as event')
        .select('event.sequence')
        .where('event.createdAt', '<', sql<Date>`now() - make_interval(days => ${days})`)
        .where((row) =>
          row.not(
            row.exists(
              row
                .selectFrom('webhookDelivery as delivery')
                .select('delivery.sequence')
                .whereRef('delivery.sequence', '=', 'event.sequence')
                .where('delivery.state', '<>', 'delivered'),
            ),
          ),
        )
        .orderBy('event.sequence')
        .limit(MAX_BATCH_ROWS)
        .execute();
      const sequences = oldEvents.map(({ sequence }) => sequence);
      if (sequences.length === 0) return 0;
      await trx.deleteFrom('webhookDelivery').where('sequence', 'in', sequences).execute();
      await trx.deleteFrom('webhookEvent').where('sequence', 'in', sequences).execute();
      return sequences.length;
    });
  }
}

/** Update of the delivery that applies only while its state is `waiting`. */
function updateWaiting(db: Database, { endpoint, event }: DeliveryKey) {
  return db
    .updateTable('webhookDelivery')
    .where('endpoint', '=', endpoint)
    .where('sequence', '=', sql<bigint>`(select sequence from webhook_event where id = ${event})`)
    .where('state', '=', 'waiting');
}
