import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { CatchUpRange, JoinEnd, RangeEnd, ScanStatus } from '../domain/scan.ts';
import * as act from './activity-proxies.ts';
import { scanCard } from './details.ts';

const TAIL_SECONDS = 60;
/** Ranges in progress at once, over all workers: read, or waiting for an earlier one. */
const MAX_RANGES_IN_PROGRESS = 16;

/**
 * Scans a cluster for deposits without end. PostgreSQL has the cursor, the status and the pauses. So a lost, terminated
 * or duplicate run loses no deposit, credits none twice, and reads nothing while paused. Runs under the id
 * `deposit-scan/<cluster>`.
 */
export async function depositScan(): Promise<void> {
  while (!workflowInfo().continueAsNewSuggested) await scanStep();
  await continueAsNew<typeof depositScan>();
}

/** Catches up in ranges, or follows the tail, which also reports why a catch-up fails. */
async function scanStep(): Promise<void> {
  if (await catchUp()) return;
  showStatus(await act.scanTail({ seconds: TAIL_SECONDS }));
}

/** True if every range was joined. Joins ranges that an earlier catch-up has staged first. */
async function catchUp(): Promise<boolean> {
  const { behind, ranges } = await act.planCatchUp();
  if (!behind) return false;
  const { joined } = await joinReadRanges();
  return ranges.length === 0 ? joined > 0 : readRanges(ranges);
}

/** Joins each range after those before it. The tail scan takes over at a range that is not read completely. */
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
  // The rejection is handled where the promise is awaited later.
  end.catch(() => undefined);
  return end;
}

async function joinReadRanges(): Promise<JoinEnd> {
  const end = await act.joinRanges();
  showStatus(end.status);
  return end;
}

/** Null if the activity could not read it. `sluice scan status` shows the status of the moment. */
function showStatus(status: ScanStatus | null): void {
  if (status !== null) setCurrentDetails(scanCard(status));
}
