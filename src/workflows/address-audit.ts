import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { type AuditOrder, type AuditReport, allOf, NOTHING_AUDITED } from '../domain/audit.ts';
import { auditPage, closeAudit } from './activity-proxies.ts';
import { auditCard } from './details.ts';

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
