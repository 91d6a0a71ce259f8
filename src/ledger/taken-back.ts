import type { Transaction } from 'kysely';
import { closeAlerts, raiseAlert } from './alerts.ts';
import type { Tables } from './database.ts';
import type { SettlementRow } from './settlement-row.ts';
import type { Before } from './subject-events.ts';

const KIND = 'confirmed_taken_back';

/** Raises the alert where callers were answered at `confirmed` and a fork has taken that back; closes it once it is finalized. */
export async function alertTakenBack(
  trx: Transaction<Tables>,
  { id: subject, status }: SettlementRow,
  before: Before,
): Promise<void> {
  if (status === 'finalized')
    await closeAlerts(trx, (row) => row.and([row('kind', '=', KIND), row('subject', '=', subject)]));
  if (status !== 'sending' || before.status !== 'confirmed') return;
  const message = `a fork has taken back ${subject}, which was confirmed, and may have been served; its bytes are sent again`;
  await raiseAlert(trx, { kind: KIND, subject, message });
}
