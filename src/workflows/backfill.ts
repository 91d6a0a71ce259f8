import { CancellationScope, isCancellation, rootCause, setCurrentDetails } from '@temporalio/workflow';
import { type BackfillOrder, type BackfillResult, isOfImport } from '../domain/backfill.ts';
import * as act from './activity-proxies.ts';
import { backfillCard } from './details.ts';

/**
 * Reads committed blocks again, or compares the history of one address with its recorded deposits, independently of the
 * deposit scan. Fails if nodes do not answer an operator's order for a day. Progress and result are in PostgreSQL.
 */
export async function backfill(command: BackfillOrder): Promise<BackfillResult> {
  setCurrentDetails('reading; `sluice backfill list` shows the progress of an operator’s order');
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
  return (isCancellation(error) ? undefined : rootCause(error)) ?? 'its run was cancelled';
}
