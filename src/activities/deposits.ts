import { createDepositRanges, type RangeDeps } from './deposit-range.ts';
import { createDepositRescan } from './deposit-rescan.ts';
import { createDepositScan, type DepositScanDeps } from './deposit-scan.ts';

/** Every activity of the deposit scan. */
export function createDepositActivities(deps: DepositScanDeps & RangeDeps) {
  return { ...createDepositScan(deps), ...createDepositRanges(deps), ...createDepositRescan(deps) };
}

export type DepositActivities = ReturnType<typeof createDepositActivities>;
