import { createAddressAudit } from '../deposits/backfill/address-audit.ts';
import type { AuditDeps } from '../deposits/backfill/audit-one-address.ts';
import { createDepositRescan } from '../deposits/backfill/rescan.ts';
import { createDepositRanges, type RangeDeps } from '../deposits/scan/catch-up.ts';
import { createDepositScan, type DepositScanDeps } from '../deposits/scan/tail.ts';
import type { AuditOrder } from '../domain/audit.ts';
import type { OperatorNote } from '../domain/operator-note.ts';
import type { GivenUpRescan, RescanOrder } from '../domain/rescan.ts';
import type { CatchUpRange, TailOrder } from '../domain/scan.ts';
import { slotsOf } from '../domain/slots.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { withHeartbeat } from './heartbeat.ts';
import { createReconciliation, type ReconciliationDeps } from './reconciliation.ts';

/** Activities of the deposit scan, rescans, audits and reconciliation. The long ones send heartbeats. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps & AuditDeps & ReconciliationDeps) {
  const tail = createDepositScan(deps);
  const ranges = createDepositRanges(deps);
  const rescans = createDepositRescan(deps);
  const audits = createAddressAudit(deps);
  return {
    ...createScanOrders(deps),
    ...createReconciliation(deps),
    ...ranges,
    scanTail: (order: TailOrder) => withHeartbeat(() => tail.scanTail(order)),
    scanRange: (range: CatchUpRange) => withHeartbeat(() => ranges.scanRange(range)),
    joinRanges: () => withHeartbeat(() => ranges.joinRanges()),
    rescan: (order: RescanOrder) => withHeartbeat(() => rescans.rescan(order)),
    ...audits,
    auditPage: (order: AuditOrder) => withHeartbeat(() => audits.auditPage(order)),
  };
}

/** Stores orders to the scan. The database decides, for this run and all later ones. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** After this nothing is committed. */
    recordPause: (order: OperatorNote) => ledger.scanPauses.begin(order),

    recordResume: (order: OperatorNote) => ledger.scanPauses.end(order),

    /** Ends the rescan, so that its headers may be pruned. */
    recordRescanGivenUp: ({ trouble, ...range }: GivenUpRescan) =>
      ledger.rescans.giveUp(slotsOf(range), trouble),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
