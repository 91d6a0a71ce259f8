import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { bothOf, NOTHING_RECONCILED, type ReconciliationReport } from '../domain/reconciliation.ts';
import { reconciliationCard } from './details.ts';
import { SCAN } from './options.ts';

const { reconcilePage } = proxyActivities<DepositActivities>({
  ...SCAN,
  summary: 'hold balances against the record',
});

/**
 * Hourly schedule: compares the balances of all our wallets with the recorded movements, page by page, from
 * the stored position. `done` is the result of the run before.
 */
export async function reconciliation(done = NOTHING_RECONCILED): Promise<ReconciliationReport> {
  for (let total = done; ; ) {
    const { next, ...page } = await reconcilePage();
    total = bothOf(total, page);
    setCurrentDetails(reconciliationCard(total));
    if (next === null) return total;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof reconciliation>(total);
  }
}
