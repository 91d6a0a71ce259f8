import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';

/**
 * Returns the settlement of a running withdrawal. If PostgreSQL was restored from before it, reserves it again with
 * the run's own terms. It then stays stopped until operators have checked whether a lost attempt has paid it.
 */
export async function readmitted(ledger: Ledger, terms: WithdrawalTerms): Promise<SettlementRow> {
  const row = await ledger.settlements.find(terms.id);
  if (row !== undefined) return row;
  const message =
    'the record was restored from before it: end it as paid, or close this alert to have it paid';
  // The alert comes first: a reserved withdrawal may be prepared.
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: terms.id, message });
  await ledger.withdrawals.reserve(terms);
  return ledger.settlements.get(terms.id);
}
