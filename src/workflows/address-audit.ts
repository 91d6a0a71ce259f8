import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { type AuditOrder, type AuditReport, allOf, NOTHING_AUDITED } from '../domain/audit.ts';
import { auditCard } from './details.ts';
import { AUDIT } from './options.ts';

const { auditPage } = proxyActivities<DepositActivities>({
  ...AUDIT,
  summary: 'hold the history against the record',
});
const { closeAudit } = proxyActivities<DepositActivities>({ ...AUDIT, summary: 'the audit is done' });

/**
 * Audits one address, or all wallets page by page: compares the transactions that nodes list with the recorded
 * deposits. Repairs the database if the order asks for it. `done` and `after` are the progress of the run before.
 */
export async function addressAudit(
  order: AuditOrder,
  done = NOTHING_AUDITED,
  after: string | null = null,
): Promise<AuditReport> {
  for (let [total, last] = [done, after]; ; ) {
    setCurrentDetails(auditCard(order, total, 'goes on'));
    const { next, ...page } = await auditPage(order, last);
    total = allOf([total, page]);
    if (next === null) {
      await closeAudit(order, total);
      setCurrentDetails(auditCard(order, total, 'done'));
      return total;
    }
    last = next;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof addressAudit>(order, total, last);
  }
}
