import { proxyActivities } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import type { ReconciliationReport } from '../domain/reconciliation.ts';
import { SCAN } from './options.ts';

const { reconcile } = proxyActivities<DepositActivities>({
  ...SCAN,
  summary: 'hold balances against the record',
});

/** Every hour, by schedule: the balances of every deposit address on chain against what the record says. */
export async function reconciliation(): Promise<ReconciliationReport> {
  return reconcile();
}
