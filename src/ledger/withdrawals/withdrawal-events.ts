import { sql, type Transaction } from 'kysely';
import { eventOfStatus } from '../../domain/webhook.ts';
import { isWithdrawalStatus } from '../../domain/withdrawal.ts';
import type { Tables } from '../database.ts';
import type { SettlementRow } from '../settlements/settlement-row.ts';
import { alertTokenHold } from '../settlements/token-holds.ts';
import { withdrawalNews } from '../webhooks/events.ts';
import { isAskedFor, writeEvent } from '../webhooks/outbox.ts';
import type { SubjectEvents } from '../webhooks/subject-events.ts';

/** What withdrawals have beside their settlements: the amount that arrived, and webhook events. */
export const withdrawalEvents: SubjectEvents = {
  changed: async (trx, settlement, { code }) => {
    await alertTokenHold(trx, settlement, code);
    await tellWithdrawal(trx, settlement);
  },
  ended: async (trx, { id }, _attempt, { amountReceived }) => {
    if (amountReceived === undefined) return;
    await trx.updateTable('withdrawal').set({ amountReceived }).where('id', '=', id).execute();
  },
};

/** Writes the event for the new status. If no endpoint subscribes to it, the terms are not even read. */
async function tellWithdrawal(trx: Transaction<Tables>, settlement: SettlementRow): Promise<void> {
  const { id, status } = settlement;
  const type = isWithdrawalStatus(status) ? eventOfStatus(status) : null;
  if (type === null || !(await isAskedFor(trx, [type]))) return;
  const withdrawal = await trx
    .selectFrom('withdrawal')
    .selectAll()
    // Null while the newest attempt is not signed.
    .select(
      sql<
        string | null
      >`(select signature from attempt where settlement_id = ${id} order by n desc limit 1)`.as('signature'),
    )
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  await writeEvent(trx, withdrawalNews(type, settlement, withdrawal));
}
