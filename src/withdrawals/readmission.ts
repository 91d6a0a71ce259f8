import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';

/**
 * The settlement of a withdrawal whose run goes on. Where it is gone, Postgres was restored from before it: then it is taken in again from the
 * run's own terms, and stays stopped until people have looked whether a lost attempt has paid it.
 */
export async function readmitted(ledger: Ledger, terms: WithdrawalTerms): Promise<SettlementRow> {
  const row = await ledger.settlements.find(terms.id);
  if (row !== undefined) return row;
  const message =
    'the record was restored from before it: end it as paid, or close this alert to have it paid';
  // First the alert: what is on record again may be prepared.
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: terms.id, message });
  await ledger.withdrawals.reserve(terms);
  return ledger.settlements.get(terms.id);
}
