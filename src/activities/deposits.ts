import { createAddressAudit } from './address-audit.ts';
import type { AuditDeps } from './audited-address.ts';
import { createDepositRanges, type RangeDeps } from './deposit-range.ts';
import { createDepositRescan } from './deposit-rescan.ts';
import { createDepositScan, type DepositScanDeps } from './deposit-scan.ts';
import { createReconciliation, type ReconciliationDeps } from './reconciliation.ts';
import { createScanOrders } from './scan-orders.ts';

/** Every activity of the deposit scan, and of those that look after it. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps & AuditDeps & ReconciliationDeps) {
  return {
    ...createDepositScan(deps),
    ...createDepositRanges(deps),
    ...createDepositRescan(deps),
    ...createScanOrders(deps),
    ...createAddressAudit(deps),
    ...createReconciliation(deps),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
