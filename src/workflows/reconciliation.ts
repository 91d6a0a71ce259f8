import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { bothOf, NOTHING_RECONCILED, type ReconciliationReport } from '../domain/reconciliation.ts';
import { SCAN } from './options.ts';

const { reconcilePage } = proxyActivities<DepositActivities>({
  ...SCAN,
  summary: 'hold balances against the record',
});

/**
 * Every hour, by schedule: the balances of every wallet of ours on chain against what came and went, some wallets at a time.
 * `done` and `after` are where a run before this one ended.
 */
export async function reconciliation(
  done = NOTHING_RECONCILED,
  after: string | null = null,
): Promise<ReconciliationReport> {
  for (let [total, last] = [done, after]; ; ) {
    const { next, ...page } = await reconcilePage(last);
    total = bothOf(total, page);
    if (next === null) return total;
    last = next;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof reconciliation>(total, last);
  }
}
