import { sql } from 'kysely';
import type { DeliveryKey, DeliveryLine, DeliveryState } from '../../domain/webhook.ts';
import { type Database, Repository, type RowOf } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { type EndpointBacklog, raiseLateAlerts, readBacklogs } from './backlogs.ts';
import { MAX_BATCH_ROWS, replayDead } from './dead-letters.ts';

/** An event on its way to an endpoint. */
export type DeliveryRow = RowOf<'webhookDelivery'> & Pick<RowOf<'webhookEvent'>, 'id' | 'type' | 'createdAt'>;

/** `attempts`: the number of failed tries. `disabledBecause`: null if the endpoint is enabled. */
export type DueDelivery = Pick<RowOf<'webhookEvent'>, 'id' | 'type' | 'body'> &
  Pick<RowOf<'webhookEndpoint'>, 'url' | 'disabledBecause'> &
  Pick<RowOf<'webhookDelivery'>, 'attempts'>;

/** A line with events that its workflow does not know; `upTo` is the newest of them. */
export interface PendingLine extends DeliveryLine {
  readonly upTo: bigint;
}

export interface DeliveryFilter extends PageRequest {
  readonly endpoint: string;
  readonly state?: DeliveryState | undefined;
}

const MAX_LINES = 500;
/**
 * A line without activity for so long has lost its workflow, or waits behind a slow endpoint, where one more signal
 * does no harm. Two tries are at most an hour apart.
 */
const LOST_BEFORE = sql<Date>`now() - interval '2 hours'`;

const NOW = sql<Date>`now()`;
const ATTEMPTS_PLUS_ONE = sql<number>`attempts + 1`;

export class Deliveries extends Repository {
  /** Lines whose workflow lacks an event or was lost, oldest first. Returned again until {@link markHandedOver}. */
  async pendingLines(): Promise<readonly PendingLine[]> {
    const waiting = this.db
      .selectFrom('webhookDelivery')
      .select(['endpoint', 'entity', 'sequence'])
      .where('state', '=', 'waiting');
    const unhanded = waiting.where('handedAt', 'is', null).orderBy('sequence').limit(MAX_LINES);
    const lost = waiting.where('handedAt', '<', LOST_BEFORE).orderBy('handedAt').limit(MAX_LINES);
    const lines = new Map<string, PendingLine>();
    for (const { endpoint, entity, sequence } of [...(await lost.execute()), ...(await unhanded.execute())]) {
      const name = JSON.stringify([endpoint, entity]);
      const upTo = lines.get(name)?.upTo ?? sequence;
      lines.set(name, { endpoint, entity, upTo: sequence > upTo ? sequence : upTo });
    }
    return [...lines.values()];
  }

  /** The workflow of the line knows its events up to `upTo`. */
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

  /** The oldest waiting event of the line; null if there is none. */
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

  /** What to send; null if the delivery does not wait any more, or its endpoint is deleted. */
  async due({ endpoint, event }: DeliveryKey): Promise<DueDelivery | null> {
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
   * Returns the number of tries; null if it does not wait any more. The caller is a live workflow, which knows all
   * events that were handed over.
   */
  async recordFailure(key: DeliveryKey, error: string): Promise<number | null> {
    return this.db.transaction().execute(async (trx) => {
      const tried = await updateWaiting(trx, key)
        .set({ lastError: error, attempts: ATTEMPTS_PLUS_ONE })
        .returning(['entity', 'attempts'])
        .executeTakeFirst();
      if (tried === undefined) return null;
      await trx
        .updateTable('webhookDelivery')
        .set({ handedAt: NOW })
        .where('endpoint', '=', key.endpoint)
        .where('entity', '=', tried.entity)
        .where('state', '=', 'waiting')
        .where('handedAt', 'is not', null)
        .execute();
      return tried.attempts;
    });
  }

  /** Gives up the delivery and raises an alert, in one transaction; `error` replaces the last one. */
  async giveUp(key: DeliveryKey, error?: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const dead = await updateWaiting(trx, key)
        .set({ state: 'dead', settledAt: NOW, ...(error === undefined ? {} : { lastError: error }) })
        .returning(['entity', 'lastError'])
        .executeTakeFirst();
      if (dead === undefined) return;
      const reason = dead.lastError ?? 'no try has ended';
      const message = `an event about ${dead.entity} was not delivered: ${reason}`;
      const details = { event: key.event };
      await raiseAlert(trx, { kind: 'webhook_dead_letter', subject: key.endpoint, message, details });
    });
  }

  /** See {@link replayDead}. */
  replay(endpoint: string, eventId?: string): Promise<number> {
    return replayDead(this.db, endpoint, eventId);
  }

  /** Deletes all deliveries of the endpoint in batches, so that none of them is locked for long. */
  async deleteAll(endpoint: string): Promise<void> {
    for (let dropped = MAX_BATCH_ROWS; dropped === MAX_BATCH_ROWS; ) {
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
      dropped = Number(numDeletedRows);
    }
  }

  /** What endpoints have not received, by endpoint id; endpoints that have received everything are left out. */
  backlogs(): Promise<ReadonlyMap<string, EndpointBacklog>> {
    return readBacklogs(this.db);
  }

  /** Raises or closes the alert about each endpoint by how long events have waited for it. */
  raiseLateAlerts(): Promise<void> {
    return raiseLateAlerts(this.db);
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
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

  /** Deletes events older than `days` without a waiting or dead delivery. Returns their number. */
  async deleteOld(days: number): Promise<number> {
    return this.db.transaction().execute(async (trx) => {
      const old = await trx
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
      const sequences = old.map(({ sequence }) => sequence);
      if (sequences.length === 0) return 0;
      await trx.deleteFrom('webhookDelivery').where('sequence', 'in', sequences).execute();
      await trx.deleteFrom('webhookEvent').where('sequence', 'in', sequences).execute();
      return sequences.length;
    });
  }
}

/** Updates the delivery if it waits. */
function updateWaiting(db: Database, { endpoint, event }: DeliveryKey) {
  return db
    .updateTable('webhookDelivery')
    .where('endpoint', '=', endpoint)
    .where('sequence', '=', sql<bigint>`(select sequence from webhook_event where id = ${event})`)
    .where('state', '=', 'waiting');
}
