import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { type AuditOrder, type AuditReport, NOTHING_AUDITED } from '../domain/audit.ts';
import { auditCard } from './details.ts';
import { AUDIT } from './options.ts';

const { auditPage } = proxyActivities<DepositActivities>({
  ...AUDIT,
  summary: 'hold the history against the record',
});
const { closeAudit } = proxyActivities<DepositActivities>({ ...AUDIT, summary: 'the audit is done' });

/**
 * Audits one address: compares the transactions that nodes list with the recorded deposits. Repairs the database if the
 * order asks for it.
 */
export async function addressAudit(order: AuditOrder): Promise<AuditReport> {
  setCurrentDetails(auditCard(order, NOTHING_AUDITED, 'goes on'));
  const report = await auditPage(order);
  await closeAudit(order, report);
  setCurrentDetails(auditCard(order, report, 'done'));
  return report;
}
