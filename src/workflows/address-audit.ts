import { setCurrentDetails } from '@temporalio/workflow';
import { type AuditOrder, type AuditReport, NOTHING_AUDITED } from '../domain/audit.ts';
import { auditPage, closeAudit } from './activity-proxies.ts';
import { auditCard } from './details.ts';

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
