import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { bothOf, NOTHING_RECONCILED, type ReconciliationReport } from '../domain/reconciliation.ts';
import { reconcilePage } from './activity-proxies.ts';
import { reconciliationCard } from './details.ts';

/**
 * Compares the balances of all watched wallets with the recorded movements, page by page, from the stored position. An
 * hourly schedule starts it. `earlierTotal`: the result of the run that continued as new.
 */
export async function reconciliation(earlierTotal = NOTHING_RECONCILED): Promise<ReconciliationReport> {
  for (let total = earlierTotal; ; ) {
    const { next, ...page } = await reconcilePage();
    total = bothOf(total, page);
    setCurrentDetails(reconciliationCard(total));
    if (next === null) return total;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof reconciliation>(total);
  }
}
