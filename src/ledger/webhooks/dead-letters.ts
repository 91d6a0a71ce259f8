import { sql } from 'kysely';
import { type Database, exists, type Trx } from '../database.ts';
import { closeAlerts } from '../operations/alerts.ts';

/** Keeps each statement far below its timeout, and its locks short. */
export const MAX_BATCH_ROWS = 2_000;

/** Makes dead letters of an endpoint, or of one event, wait again. Returns their number. Closes their alert. */
export async function replayDead(db: Database, endpoint: string, eventId?: string): Promise<number> {
  let [replayed, after] = [0, 0n];
  for (let batch = MAX_BATCH_ROWS; batch === MAX_BATCH_ROWS; replayed += batch) {
    const revived = await revive(db, endpoint, after, eventId);
    batch = revived.length;
    // A delivery that is dead again by now is not revived twice.
    for (const { sequence } of revived) if (sequence > after) after = sequence;
  }
  await db.transaction().execute((trx) => closeWhereNoneIsLeft(trx, endpoint));
  return replayed;
}

function revive(db: Database, endpoint: string, after: bigint, eventId: string | undefined) {
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

/** Locks the alert first: a delivery that dies meanwhile waits for this transaction, and raises a new alert. */
async function closeWhereNoneIsLeft(trx: Trx, endpoint: string): Promise<void> {
  const open = await trx
    .selectFrom('alert')
    .select('position')
    .where('kind', '=', 'webhook_dead_letter')
    .where('subject', '=', endpoint)
    .where('closedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (open === undefined) return;
  const left = trx.selectFrom('webhookDelivery').select('sequence').where('endpoint', '=', endpoint);
  if (!(await exists(left.where('state', '=', 'dead').limit(1))))
    await closeAlerts(trx, (row) => row('position', '=', open.position));
}
