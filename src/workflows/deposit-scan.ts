import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { CatchUpRange, JoinEnd, RangeEnd } from '../domain/scan.ts';
import * as act from './deposit-activity-proxies.ts';
import { type DepositScanInput, DepositScanProgress } from './deposit-scan-progress.ts';

const TAIL_SECONDS = 60;
/** Ranges in progress at once, over all workers: read, or waiting for an earlier one. */
const AHEAD = 16;

/**
 * Scans a cluster for deposits without end. PostgreSQL has the cursor and the pauses. So a lost, terminated
 * or duplicate run loses no deposit, credits none twice, and reads nothing while paused. Runs under the id
 * `deposit-scan/<cluster>`.
 */
export async function depositScan(input: DepositScanInput = {}): Promise<void> {
  const scan = new DepositScanProgress(input);
  while (!workflowInfo().continueAsNewSuggested) await readOn(scan);
  await condition(allHandlersFinished);
  await continueAsNew<typeof depositScan>(scan.next());
}

/** Catches up in ranges, or follows the tail, which also reports why a catch-up fails. */
async function readOn(scan: DepositScanProgress): Promise<void> {
  if (await catchUp(scan)) return;
  scan.note(await act.scanTail({ seconds: TAIL_SECONDS, since: scan.since }));
}

/** True if every range was joined. Joins ranges that an earlier catch-up has staged first. */
async function catchUp(scan: DepositScanProgress): Promise<boolean> {
  const { behind, ranges } = await act.planCatchUp();
  if (!behind) return false;
  const { joined } = await join(scan);
  return ranges.length === 0 ? joined > 0 : readRanges(scan, ranges);
}

/** Joins each range after those before it. The tail scan takes over at a range that is not read completely. */
async function readRanges(scan: DepositScanProgress, ranges: readonly CatchUpRange[]): Promise<boolean> {
  const ends: Promise<RangeEnd>[] = [];
  for (const [index, { to }] of ranges.entries()) {
    for (const range of ranges.slice(ends.length, index + AHEAD)) ends.push(read(range));
    const end = await ends[index];
    const { status } = await join(scan);
    const reached = BigInt(status?.cursor?.slot ?? '0') >= BigInt(to);
    if (end?.complete === true && reached) continue;
    await Promise.all(ends);
    return false;
  }
  return true;
}

function read(range: CatchUpRange): Promise<RangeEnd> {
  const end = act.scanRange(range);
  // The rejection is handled where the promise is awaited later.
  end.catch(() => undefined);
  return end;
}

async function join(scan: DepositScanProgress): Promise<JoinEnd> {
  const end = await act.joinRanges();
  if (end.status !== null) scan.note(end.status);
  return end;
}
