import { createAddressAudit } from '../deposits/backfill/address-audit.ts';
import type { AuditDeps } from '../deposits/backfill/audit-one-address.ts';
import { createDepositRescan } from '../deposits/backfill/rescan.ts';
import { createDepositRanges, type RangeDeps } from '../deposits/scan/catch-up.ts';
import { createScanOrders } from '../deposits/scan/pause-orders.ts';
import { createDepositScan, type DepositScanDeps } from '../deposits/scan/tail.ts';
import type { BackfillOrder, BackfillResult } from '../domain/backfill.ts';
import type { CatchUpRange } from '../domain/scan.ts';
import { withHeartbeat } from './heartbeat.ts';
import { createReconciliation, type ReconciliationDeps } from './reconciliation.ts';

/** Activities of the deposit scan, backfills and reconciliation. The long ones send heartbeats. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps & AuditDeps & ReconciliationDeps) {
  const ranges = createDepositRanges(deps);
  const rescans = createDepositRescan(deps);
  const audits = createAddressAudit(deps);
  return {
    ...createDepositScan(deps),
    ...createScanOrders(deps),
    ...createReconciliation(deps),
    ...ranges,
    scanRange: (range: CatchUpRange) => withHeartbeat(() => ranges.scanRange(range)),
    joinRanges: () => withHeartbeat(() => ranges.joinRanges()),
    backfill: (order: BackfillOrder): Promise<BackfillResult> =>
      withHeartbeat<BackfillResult>(() => ('address' in order ? audits.audit(order) : rescans.rescan(order))),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
