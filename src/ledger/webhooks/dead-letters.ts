import { sql } from 'kysely';
import { type Database, exists, type Trx } from '../database.ts';
import { closeAlerts } from '../operations/alerts.ts';

/** Maximum number of rows for each statement, so that it ends long before its timeout and holds locks briefly. */
export const MAX_BATCH_ROWS = 2_000;

/**
 * Sets the dead deliveries of an endpoint, or only that of one event, to `waiting` and returns their number. Closes the
 * endpoint's alert if no dead delivery is left.
 */
export async function replayDead(db: Database, endpoint: string, eventId?: string): Promise<number> {
  let [replayed, after] = [0, 0n];
  for (let batch = MAX_BATCH_ROWS; batch === MAX_BATCH_ROWS; replayed += batch) {
    const revived = await reviveBatch(db, endpoint, after, eventId);
    batch = revived.length;
    // Continuing after the highest sequence prevents reviving a delivery twice that has become dead again.
    for (const { sequence } of revived) if (sequence > after) after = sequence;
  }
  await db.transaction().execute((trx) => closeAlertIfNoneDead(trx, endpoint));
  return replayed;
}

function reviveBatch(db: Database, endpoint: string, after: bigint, eventId: string | undefined) {
  const oldest = db
    .selectFrom('webhookDelivery')
    .select('sequence')
    .where('endpoint', '=', endpoint)
    .where('state', '=', 'dead')
    .where('sequence', '>', after)
    .$if(eventId !== undefined, (query) =>
      query.where('sequence', '=', sql<bigint>`(select sequence from webhook_event where id = ${eventId})`),
    )
    .orderBy('sequence')
    .limit(MAX_BATCH_ROWS);
  return db
    .updateTable('webhookDelivery')
    .set({ state: 'waiting', settledAt: null, handedAt: null, attempts: 0 })
    .where('endpoint', '=', endpoint)
    .where('sequence', 'in', oldest)
    .where('state', '=', 'dead')
    .returning('sequence')
    .execute();
}

/**
 * Locks the alert first, so that a delivery that becomes dead meanwhile waits for this transaction and raises a new
 * alert.
 */
async function closeAlertIfNoneDead(trx: Trx, endpoint: string): Promise<void> {
  const open = await trx
    .selectFrom('alert')
    .select('position')
    .where('kind', '=', 'webhook_dead_letter')
    .where('subject', '=', endpoint)
    .where('closedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (open === undefined) return;
  const deliveries = trx.selectFrom('webhookDelivery').select('sequence').where('endpoint', '=', endpoint);
  if (!(await exists(deliveries.where('state', '=', 'dead').limit(1))))
    await closeAlerts(trx, (row) => row('position', '=', open.position));
}
