import { CancellationScope, isCancellation, rootCause, setCurrentDetails } from '@temporalio/workflow';
import { type BackfillCommand, type BackfillResult, isOfImport } from '../domain/backfill.ts';
import * as act from './activity-proxies.ts';
import { backfillCard } from './details.ts';

/**
 * Reads committed blocks again, or compares the history of one address with its recorded deposits. Runs independently
 * of the deposit scan. A backfill that an operator started fails after a day. PostgreSQL stores progress and result.
 */
export async function backfill(command: BackfillCommand): Promise<BackfillResult> {
  setCurrentDetails(
    'reading; `sluice backfill list` prints the progress of a backfill that an operator started',
  );
  try {
    const result = await (isOfImport(command) ? act.backfillImport : act.backfill)(command);
    setCurrentDetails(backfillCard(result));
    return result;
  } catch (error) {
    if (!isOfImport(command))
      await CancellationScope.nonCancellable(() => act.recordBackfillGivenUp(command, reasonOf(error)));
    throw error;
  }
}

function reasonOf(error: unknown): string {
  return (isCancellation(error) ? undefined : rootCause(error)) ?? 'the workflow run was cancelled';
}
