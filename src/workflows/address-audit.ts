import { proxyActivities } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import type { AuditOrder, AuditReport } from '../domain/audit.ts';
import { SCAN } from './options.ts';

const { auditAddresses } = proxyActivities<DepositActivities>({
  ...SCAN,
  summary: 'hold the history against the record',
});

/** Holds what nodes list for an address, or for all, against the deposits on record, and repairs the record where that is asked for. */
export async function addressAudit(order: AuditOrder): Promise<AuditReport> {
  return auditAddresses(order);
}
