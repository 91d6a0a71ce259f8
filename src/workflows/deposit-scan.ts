import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { CatchUpRange } from '../domain/scan.ts';
import * as act from './deposit-activities.ts';
import { type DepositScanInput, DepositScanProgress } from './deposit-scan-progress.ts';

const TAIL_SECONDS = 60;
/** Ranges that are read at once, on all workers together. */
const LANES = 8;

/**
 * Scans a cluster for deposits, for ever. Postgres has the cursor, so that a run which is lost, ended or started twice loses nothing
 * and credits nothing twice. Runs under the id `deposit-scan/<cluster>`.
 */
export async function depositScan(input: DepositScanInput = {}): Promise<void> {
  const scan = new DepositScanProgress(input);
  while (!workflowInfo().continueAsNewSuggested) {
    await scan.resumed();
    await scan.unlessPaused(() => readOn(scan));
  }
  await condition(allHandlersFinished);
  await continueAsNew<typeof depositScan>(scan.next());
}

/** Far behind, ranges are read at once and joined in their order; else, or where none could be joined, blocks are read as they come. */
async function readOn(scan: DepositScanProgress): Promise<void> {
  const { ranges } = await act.planCatchUp();
  if (ranges.length > 0) {
    await readRanges(ranges);
    const { joined, view } = await act.joinRanges();
    scan.note(view);
    if (joined > 0) return;
  }
  scan.note(await act.scanTail({ seconds: TAIL_SECONDS }));
}

async function readRanges(ranges: readonly CatchUpRange[]): Promise<void> {
  const waiting = [...ranges];
  const lane = async (): Promise<void> => {
    for (let range = waiting.shift(); range !== undefined; range = waiting.shift())
      await act.scanRange(range);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, waiting.length) }, lane));
}
