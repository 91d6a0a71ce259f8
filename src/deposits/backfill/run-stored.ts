import { activityInfo, CancelledFailure } from '@temporalio/activity';
import type { StoredOrder } from '../../domain/backfill.ts';
import { slotsOf } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { BackfillRow, BackfillTry } from '../../ledger/scan/backfills.ts';
import { haltAfter } from '../scan/failure-alerts.ts';

/** One try of a stored backfill: continues its open row, which keeps the error of the try. Returns the ended row. */
export async function runStored(
  { backfills }: Pick<Ledger, 'backfills'>,
  order: StoredOrder,
  work: (run: BackfillRow & BackfillTry) => Promise<BackfillRow>,
): Promise<BackfillRow> {
  const run = await backfills.begin({ ...order, ...slotsOf(order) }, activityInfo().workflowExecution?.runId);
  // An earlier try stored its end, but Temporal did not receive the result.
  if (run.endedAt !== null) return run;
  try {
    return await work(run);
  } catch (error) {
    // The error of this try matters, even if the database cannot store it.
    if (!(error instanceof CancelledFailure))
      await backfills.recordError(run, haltAfter(error).reason).catch(() => undefined);
    throw error;
  }
}
