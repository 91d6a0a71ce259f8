import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { CatchUpRange, JoinEnd, RangeEnd, ScanStatus } from '../domain/scan.ts';
import * as act from './activity-proxies.ts';
import { scanCard } from './details.ts';

/** How long one `scanTail` activity follows the chain. */
const TAIL_TURN_SECONDS = 60;
/** Ranges that all workers together read, or have read but cannot join before an earlier range. */
const MAX_RANGES_IN_PROGRESS = 16;

/**
 * Scans the blocks of a cluster for deposits. Never completes. Runs under the id `deposit-scan/<cluster>`. PostgreSQL
 * stores the cursor, the status and the pauses. So a lost, terminated or duplicate run loses no deposit, credits none
 * twice, and reads nothing while the scan is paused.
 */
export async function depositScan(): Promise<void> {
  while (!workflowInfo().continueAsNewSuggested) await scanStep();
  await continueAsNew<typeof depositScan>();
}

/** Catches up in parallel ranges, or follows the chain. After a failed catch-up, the tail scan reports the cause. */
async function scanStep(): Promise<void> {
  if (await catchUp()) return;
  showStatus(await act.scanTail({ seconds: TAIL_TURN_SECONDS }));
}

/** Joins ranges that an earlier catch-up has staged, then reads new ranges. Returns true if every range was joined. */
async function catchUp(): Promise<boolean> {
  const { behind, ranges } = await act.planCatchUp();
  if (!behind) return false;
  const { joined } = await joinReadRanges();
  return ranges.length === 0 ? joined > 0 : readRanges(ranges);
}

/** Joins each range after the ranges before it. Returns false at a range that is not read completely. */
async function readRanges(ranges: readonly CatchUpRange[]): Promise<boolean> {
  const ends: Promise<RangeEnd>[] = [];
  for (const [index, { to }] of ranges.entries()) {
    for (const range of ranges.slice(ends.length, index + MAX_RANGES_IN_PROGRESS))
      ends.push(startRead(range));
    const end = await ends[index];
    const { status } = await joinReadRanges();
    const isReached = BigInt(status?.cursor?.slot ?? '0') >= BigInt(to);
    if (end?.complete === true && isReached) continue;
    await Promise.all(ends);
    return false;
  }
  return true;
}

function startRead(range: CatchUpRange): Promise<RangeEnd> {
  const end = act.scanRange(range);
  // A rejection is handled where the promise is awaited, so it must not count as unhandled before that.
  end.catch(() => undefined);
  return end;
}

async function joinReadRanges(): Promise<JoinEnd> {
  const end = await act.joinRanges();
  showStatus(end.status);
  return end;
}

/** Displays the status in the current details; null leaves them unchanged. */
function showStatus(status: ScanStatus | null): void {
  if (status !== null) setCurrentDetails(scanCard(status));
}
