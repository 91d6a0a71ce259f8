import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { CatchUpRange, JoinEnd, RangeEnd } from '../domain/scan.ts';
import * as act from './deposit-activity-proxies.ts';
import { type DepositScanInput, DepositScanProgress } from './deposit-scan-progress.ts';

const TAIL_SECONDS = 60;
/** Ranges that are read, or wait for one before them, at once on all workers together. */
const AHEAD = 16;

/**
 * Scans a cluster for deposits, for ever. Postgres has the cursor and the pauses, so that a run which is lost, ended or started twice
 * loses nothing, credits nothing twice, and reads nothing that people have not released. Runs under the id `deposit-scan/<cluster>`.
 */
export async function depositScan(input: DepositScanInput = {}): Promise<void> {
  const scan = new DepositScanProgress(input);
  while (!workflowInfo().continueAsNewSuggested) await readOn(scan);
  await condition(allHandlersFinished);
  await continueAsNew<typeof depositScan>(scan.next());
}

/** Far behind, ranges are read at once; where that does not help, blocks are read as they come, which also tells why it does not. */
async function readOn(scan: DepositScanProgress): Promise<void> {
  if (await catchUp(scan)) return;
  scan.note(await act.scanTail({ seconds: TAIL_SECONDS, since: scan.since }));
}

/** True where ranges were joined to the last one. What an earlier catch-up has staged comes first. */
async function catchUp(scan: DepositScanProgress): Promise<boolean> {
  const { behind, ranges } = await act.planCatchUp();
  if (!behind) return false;
  const { joined } = await join(scan);
  return ranges.length === 0 ? joined > 0 : readRanges(scan, ranges);
}

/**
 * Each range is joined as soon as those before it are. One that cannot be read to its end is left to the tail, and what follows it waits.
 */
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
  // It fails where it is waited for, which may be later.
  end.catch(() => undefined);
  return end;
}

async function join(scan: DepositScanProgress): Promise<JoinEnd> {
  const end = await act.joinRanges();
  if (end.status !== null) scan.note(end.status);
  return end;
}
