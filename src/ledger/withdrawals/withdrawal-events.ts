import { sql } from 'kysely';
import { holdSubject, type TokenHold, tokenHold } from '../../domain/token-holds.ts';
import { eventOfStatus } from '../../domain/webhook.ts';
import { isWithdrawalStatus } from '../../domain/withdrawal.ts';
import { exists, type Trx } from '../database.ts';
import { closeAlert, raiseAlert } from '../operations/alerts.ts';
import type { KindEvents, SettlementRow } from '../settlements/settlement-row.ts';
import { withdrawalOutboxEvent } from '../webhooks/events.ts';
import { hasSubscriber, writeEvent } from '../webhooks/outbox.ts';

/** Updates what depends on the status of a withdrawal: the amount received, alerts about holds, and webhook events. */
export const withdrawalEvents: KindEvents = {
  changed: async (trx, settlement, { code }) => {
    await alertTokenHold(trx, settlement, code);
    await publishStatus(trx, settlement);
  },
  ended: async (trx, { id }, _attempt, { amountReceived }) => {
    if (amountReceived === undefined) return;
    await trx.updateTable('withdrawal').set({ amountReceived }).where('id', '=', id).execute();
  },
};

/** Writes the webhook event for the new status. If no endpoint subscribes to that event, the withdrawal is not read. */
async function publishStatus(trx: Trx, settlement: SettlementRow): Promise<void> {
  const { id, status } = settlement;
  const type = isWithdrawalStatus(status) ? eventOfStatus(status) : null;
  if (type === null || !(await hasSubscriber(trx, [type]))) return;
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
  await writeEvent(trx, withdrawalOutboxEvent(type, settlement, withdrawal));
}

interface HeldWithdrawal {
  readonly id: string;
  readonly asset: string;
}

/** Keeps an alert open while a withdrawal is held for that reason. `oldCode`: the previous reason code. */
async function alertTokenHold(
  trx: Trx,
  { id, reason }: SettlementRow,
  oldCode: string | null,
): Promise<void> {
  const [before, after] = [tokenHold(oldCode), tokenHold(reason?.code ?? null)];
  if (before === after) return;
  const withdrawal = await trx
    .selectFrom('withdrawal')
    .select(['id', 'asset'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  // Take one lock for each asset: withdrawals that continue at the same time must not count each other as held. The
  // lock is a separate statement, so that the next statement reads the commits that it waited for.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/token-hold/${withdrawal.asset}`}, 0))`.execute(
    trx,
  );
  if (before !== null) await endHold(trx, before, withdrawal);
  if (after === null) return;
  const subject = holdSubject(after, withdrawal);
  const details = { asset: withdrawal.asset, withdrawal: id };
  await raiseAlert(trx, { kind: after, subject, message: reason?.message ?? after, details });
}

/** Closes the alert, unless another withdrawal is held for the same reason. */
async function endHold(trx: Trx, kind: TokenHold, withdrawal: HeldWithdrawal): Promise<void> {
  const subject = holdSubject(kind, withdrawal);
  if (subject !== withdrawal.id && (await isOtherHeld(trx, kind, withdrawal.asset))) return;
  await closeAlert(trx, kind, subject);
}

async function isOtherHeld(trx: Trx, kind: TokenHold, asset: string): Promise<boolean> {
  return exists(
    trx
      .selectFrom('withdrawal')
      .innerJoin('settlement', 'settlement.id', 'withdrawal.id')
      .select('withdrawal.id')
      .where('status', '=', 'held')
      .where('reasonCode', '=', kind)
      .where('asset', '=', asset)
      .limit(1),
  );
}
