import { createAddressAudit } from '../deposits/backfill/address-audit.ts';
import type { AuditDeps } from '../deposits/backfill/audit-one-address.ts';
import { createDepositRescan } from '../deposits/backfill/rescan.ts';
import { createDepositRanges, type RangeDeps } from '../deposits/scan/catch-up.ts';
import { createDepositScan, type DepositScanDeps } from '../deposits/scan/tail.ts';
import type { BackfillCommand, BackfillResult, StoredBackfillCommand } from '../domain/backfill.ts';
import { type CatchUpRange, slotsOf, type TailCommand } from '../domain/scan.ts';
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
    scanTail: (command: TailCommand) => withHeartbeat(() => tail.scanTail(command)),
    scanRange: (range: CatchUpRange) => withHeartbeat(() => ranges.scanRange(range)),
    joinRanges: () => withHeartbeat(() => ranges.joinRanges()),
    backfill: (command: BackfillCommand): Promise<BackfillResult> =>
      withHeartbeat<BackfillResult>(() =>
        'address' in command ? audits.audit(command) : rescans.rescan(command),
      ),
  };
}

export function createBackfillEnd({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Stores that the backfill has given up, so that the block headers it needs can be pruned. */
    recordBackfillGivenUp: (command: StoredBackfillCommand, reason: string) =>
      ledger.backfills.giveUp({ ...command, ...slotsOf(command) }, reason),
  };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
