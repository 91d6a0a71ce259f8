import type { Transaction } from 'kysely';
import type { SettlementStatus } from '../../domain/settlement.ts';
import type { Tables } from '../database.ts';
import { closeAlerts, raiseAlert } from '../operations/alerts.ts';
import type { SettlementRow } from './settlement-row.ts';

const KIND = 'confirmed_taken_back';
/** What happened to a settlement that is no longer confirmed, for the alert. */
const NOW: Readonly<Partial<Record<SettlementStatus, string>>> = {
  sending: 'its bytes are sent again',
  failed: 'it has failed on another fork',
  dead: 'it is proved dead',
};

/** Raises the alert if callers were answered at `confirmed` and a fork reverted that; `finalized` closes it. */
export async function alertTakenBack(
  trx: Transaction<Tables>,
  { id: subject, status, wasConfirmed }: SettlementRow,
): Promise<void> {
  if (status === 'finalized')
    await closeAlerts(trx, (row) => row.and([row('kind', '=', KIND), row('subject', '=', subject)]));
  const now = NOW[status];
  if (!wasConfirmed || now === undefined) return;
  const message = `a fork has taken back ${subject}, which was confirmed, and may have been served; ${now}`;
  await raiseAlert(trx, { kind: KIND, subject, message });
}
