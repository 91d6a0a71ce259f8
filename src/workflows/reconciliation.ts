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
 * Every hour, by schedule: the balances of every wallet of ours on chain against what came and went, some wallets at a time, from the
 * place on record on: where the round before this one ended, or was ended. `done` is what a run before this one came to.
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
