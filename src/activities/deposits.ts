import { createAddressAudit } from '../deposits/backfill/address-audit.ts';
import type { AuditDeps } from '../deposits/backfill/audit-one-address.ts';
import { createDepositRescan } from '../deposits/backfill/rescan.ts';
import { createDepositRanges, type RangeDeps } from '../deposits/scan/catch-up.ts';
import { createDepositScan, type DepositScanDeps } from '../deposits/scan/tail.ts';
import type { BackfillOrder, BackfillResult, StoredOrder } from '../domain/backfill.ts';
import { type CatchUpRange, slotsOf, type TailOrder } from '../domain/scan.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { withHeartbeat } from './heartbeat.ts';
import { createReconciliation, type ReconciliationDeps } from './reconciliation.ts';

/** Activities of the deposit scan, backfills and reconciliation. Long activities send heartbeats. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps & AuditDeps & ReconciliationDeps) {
  const tail = createDepositScan(deps);
  const ranges = createDepositRanges(deps);
  const rescans = createDepositRescan(deps);
  const audits = createAddressAudit(deps);
  return {
    ...createBackfillEnd(deps),
    ...createReconciliation(deps),
    ...ranges,
    scanTail: (order: TailOrder) => withHeartbeat(() => tail.scanTail(order)),
    scanRange: (range: CatchUpRange) => withHeartbeat(() => ranges.scanRange(range)),
    joinRanges: () => withHeartbeat(() => ranges.joinRanges()),
    backfill: (order: BackfillOrder): Promise<BackfillResult> =>
      withHeartbeat<BackfillResult>(() => ('address' in order ? audits.audit(order) : rescans.rescan(order))),
  };
}

export function createBackfillEnd({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Stores that the backfill has given up, so that the block headers it needs can be pruned. */
    recordBackfillGivenUp: (order: StoredOrder, reason: string) =>
      ledger.backfills.giveUp({ ...order, ...slotsOf(order) }, reason),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
