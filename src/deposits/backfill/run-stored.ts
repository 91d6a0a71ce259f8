import { activityInfo, CancelledFailure } from '@temporalio/activity';
import type { StoredBackfillCommand } from '../../domain/backfill.ts';
import { slotsOf } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { BackfillRow, BackfillTry } from '../../ledger/scan/backfills.ts';
import { haltAfter } from '../scan/failure-alerts.ts';

/**
 * Begins or continues the stored backfill of `command` and returns its ended row. An error is stored in the row and
 * thrown.
 */
export async function runStored(
  { backfills }: Pick<Ledger, 'backfills'>,
  command: StoredBackfillCommand,
  work: (run: BackfillRow & BackfillTry) => Promise<BackfillRow>,
): Promise<BackfillRow> {
  const run = await backfills.begin(
    { ...command, ...slotsOf(command) },
    activityInfo().workflowExecution?.runId,
  );
  // An earlier attempt has stored the end of the backfill, but Temporal did not receive the result.
  if (run.endedAt !== null) return run;
  try {
    return await work(run);
  } catch (error) {
    // A failure to store the error is ignored, so that the error of the backfill itself is thrown.
    if (!(error instanceof CancelledFailure))
      await backfills.recordError(run, haltAfter(error).reason).catch(() => undefined);
    throw error;
  }
}
