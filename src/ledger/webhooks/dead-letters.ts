import type { Transaction } from 'kysely';
import type { Database, Tables } from '../database.ts';
import { closeAlerts } from '../operations/alerts.ts';

/** Keeps each statement far below its timeout, and its locks short. */
export const MOST_AT_ONCE = 2_000;

/** Makes dead letters of an endpoint, or of one event, wait again. Returns their number. Closes their alert. */
export async function replayDead(db: Database, endpoint: string, eventId?: string): Promise<number> {
  let replayed = 0;
  for (let after = 0n; ; ) {
    const dead = await deadOf(db, endpoint, after, eventId);
    const last = dead.at(-1);
    if (last === undefined) break;
    replayed += await revive(db, endpoint, dead);
    after = last;
  }
  await db.transaction().execute((trx) => closeWhereNoneIsLeft(trx, endpoint));
  return replayed;
}

async function deadOf(
  db: Database,
  endpoint: string,
  after: bigint,
  eventId: string | undefined,
): Promise<readonly bigint[]> {
  let query = db
    .selectFrom('webhookDelivery')
    .select('sequence')
    .where('endpoint', '=', endpoint)
    .where('state', '=', 'dead')
    .where('sequence', '>', after);
  if (eventId !== undefined)
    query = query.where((row) =>
      row('sequence', 'in', row.selectFrom('webhookEvent').select('sequence').where('id', '=', eventId)),
    );
  const rows = await query.orderBy('sequence').limit(MOST_AT_ONCE).execute();
  return rows.map(({ sequence }) => sequence);
}

async function revive(db: Database, endpoint: string, sequences: readonly bigint[]): Promise<number> {
  const revived = await db
    .updateTable('webhookDelivery')
    .set({ state: 'waiting', settledAt: null, handedAt: null, attempts: 0 })
    .where('endpoint', '=', endpoint)
    .where('sequence', 'in', sequences)
    .where('state', '=', 'dead')
    .executeTakeFirst();
  return Number(revived.numUpdatedRows);
}

/** Locks the alert first: a delivery that dies meanwhile waits for this transaction, and raises a new alert. */
async function closeWhereNoneIsLeft(trx: Transaction<Tables>, endpoint: string): Promise<void> {
  const open = await trx
    .selectFrom('alert')
    .select('position')
    .where('kind', '=', 'webhook_dead_letter')
    .where('subject', '=', endpoint)
    .where('closedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (open === undefined) return;
  const left = await trx
    .selectFrom('webhookDelivery')
    .select('sequence')
    .where('endpoint', '=', endpoint)
    .where('state', '=', 'dead')
    .limit(1)
    .executeTakeFirst();
  if (left === undefined) await closeAlerts(trx, (row) => row('position', '=', open.position));
}
