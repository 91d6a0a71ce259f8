import type { AuditOrder } from '../domain/audit.ts';
import type { RescanOrder } from '../domain/rescan.ts';
import type { CatchUpRange } from '../domain/scan.ts';
import { createAddressAudit } from './address-audit.ts';
import type { AuditDeps } from './audited-address.ts';
import { beating } from './beating.ts';
import { createDepositRanges, type RangeDeps } from './deposit-range.ts';
import { createDepositRescan } from './deposit-rescan.ts';
import { createDepositScan, type DepositScanDeps } from './deposit-scan.ts';
import { createReconciliation, type ReconciliationDeps } from './reconciliation.ts';
import { createScanOrders } from './scan-orders.ts';

/** Every activity of the deposit scan, and of those that look after it. Those that may take long heartbeat until they end. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps & AuditDeps & ReconciliationDeps) {
  const ranges = createDepositRanges(deps);
  const rescans = createDepositRescan(deps);
  const audits = createAddressAudit(deps);
  return {
    ...createDepositScan(deps),
    ...createScanOrders(deps),
    ...createReconciliation(deps),
    ...ranges,
    scanRange: (range: CatchUpRange) => beating(() => ranges.scanRange(range)),
    joinRanges: () => beating(() => ranges.joinRanges()),
    rescan: (order: RescanOrder) => beating(() => rescans.rescan(order)),
    ...audits,
    auditPage: (order: AuditOrder, after: string | null) => beating(() => audits.auditPage(order, after)),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
