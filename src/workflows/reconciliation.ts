import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { NOTHING_RECONCILED, type ReconciliationReport, sumOfReports } from '../domain/reconciliation.ts';
import { reconcilePage } from './activity-proxies.ts';
import { reconciliationCard } from './details.ts';

/**
 * Hourly schedule: compares the balances of all our wallets with the recorded movements, page by page, from
 * the stored position. `done` is the result of the run before.
 */
export async function reconciliation(done = NOTHING_RECONCILED): Promise<ReconciliationReport> {
  for (let total = done; ; ) {
    const { next, ...page } = await reconcilePage();
    total = sumOfReports(total, page);
    setCurrentDetails(reconciliationCard(total));
    if (next === null) return total;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof reconciliation>(total);
  }
}
