import { cancellationSignal, log } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { BlockName } from '../../domain/block-link.ts';
import type { CatchUpPlan, CatchUpRange, JoinEnd, RangeEnd } from '../../domain/scan.ts';
import { lowest } from '../../domain/units.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Cursor } from '../../ledger/scan/scan-cursor.ts';
import { withAbort } from '../../solana/rpc/with-abort.ts';
import { finalizedTip, listedSlots } from '../../solana/scan/frontier.ts';
import { HeaderQuorum } from '../../solana/scan/header-quorum.ts';
import { haltAfter, isOperational, ScanAlarms, STALLED_MS } from './failure-alerts.ts';
import { REPORT_EVERY_MS, slowReport, tipOrNull } from './report.ts';
import { chainReader, cursorOrStart, type ScannerDeps } from './scanner.ts';
import { tickUntilSettled } from './side-loop.ts';

export interface RangeDeps extends ScannerDeps {
  /** Lag in slots above which ranges are read in parallel. Default 500. */
  readonly catchUpSlots?: bigint;
  /** Blocks per range. Default 256. */
  readonly rangeBlocks?: number;
}

const CATCH_UP_SLOTS = 500n;
const RANGE_BLOCKS = 256;
/** Maximum slots of one plan. The next plan is made after the ranges of this one are joined. */
const MAX_PLAN_SLOTS = 8_000n;
/** Limits for one process: concurrently read ranges, and bytes of blocks in memory for each range. */
const MAX_CONCURRENT_RANGES = 2;
const BUDGET_BYTES = 16 * 1024 * 1024;

/**
 * Activities that catch up in parallel: any worker stages ranges, which are then joined to the cursor in order. Errors
 * are returned as `reason` and not thrown, because the tail scan has the same errors and raises the alert.
 */
export function createDepositRanges(deps: RangeDeps) {
  const limit = pLimit(MAX_CONCURRENT_RANGES);
  return {
    planCatchUp(): Promise<CatchUpPlan> {
      return orReason(
        () => whileReporting(deps, makePlan(deps), false),
        (reason) => ({ behind: false, ranges: [], reason }),
      );
    },

    /** Stages the blocks of a range up to the first missing block, which the tail scan reports as a gap. Idempotent. */
    scanRange(range: CatchUpRange): Promise<RangeEnd> {
      return orReason<RangeEnd>(
        async () => {
          const stage = (signal: AbortSignal) => stageRange(deps, range, signal);
          const complete = await limit(() => withAbort(stage, cancellationSignal()));
          return { complete, reason: null };
        },
        (reason) => ({ complete: false, reason }),
      );
    },

    joinRanges(): Promise<JoinEnd> {
      return orReason(
        () => whileReporting(deps, joinStaged(deps), true),
        (reason) => ({ joined: 0, status: null, reason }),
      );
    },
  };
}

async function orReason<Answer>(
  work: () => Promise<Answer>,
  otherwise: (reason: string) => Answer,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!isOperational(error)) log.error('the deposit scan cannot catch up', { error });
    return otherwise(haltAfter(error).reason);
  }
}

async function makePlan(deps: RangeDeps): Promise<CatchUpPlan> {
  const { ledger, catchUpSlots = CATCH_UP_SLOTS } = deps;
  const tip = await recordTip(deps);
  const cursor = await cursorOrStart(deps);
  const behind = tip - cursor.slot > catchUpSlots;
  const ranges = behind ? await unstagedRanges(ledger, await agreedRanges(deps, cursor, tip)) : [];
  return { behind, ranges, reason: null };
}

/** Stores the finalized tip even while the scan is paused, so that the API returns the current lag. */
async function recordTip({ ledger, pool }: RangeDeps): Promise<bigint> {
  const tip = await finalizedTip(pool);
  await ledger.scan.recordTip(tip);
  return tip;
}

/** Awaits `work`, and reports at intervals that a worker is scanning. */
function whileReporting<T>({ ledger }: RangeDeps, work: Promise<T>, isCatchingUp: boolean): Promise<T> {
  return tickUntilSettled(work, REPORT_EVERY_MS, () =>
    ignoreFailure(() => ledger.scanStatus.recordActivity(isCatchingUp)),
  );
}

async function joinStaged(deps: RangeDeps): Promise<JoinEnd> {
  const { ledger } = deps;
  const first = await cursorOrStart(deps);
  const cursor = await joinAllFrom(deps, first);
  const joined = Number(cursor.height - first.height);
  const tip = await recordTip(deps);
  if (joined === 0) return { joined, status: await ledger.scanStatus.read(), reason: null };
  const status = await ledger.scanStatus.report({ state: 'catch-up', tip, reason: null });
  await new ScanAlarms(ledger).update(status);
  return { joined, status, reason: null };
}

async function agreedRanges(
  { pool, rangeBlocks = RANGE_BLOCKS }: RangeDeps,
  cursor: Cursor,
  tip: bigint,
): Promise<readonly CatchUpRange[]> {
  const to = lowest([tip, cursor.slot + MAX_PLAN_SLOTS]);
  const slots = await listedSlots(pool, cursor.slot + 1n, to);
  const ends = slots.filter((_, index) => (index + 1) % rangeBlocks === 0 || index === slots.length - 1);
  const headers = new HeaderQuorum(pool);
  await headers.request(ends);
  const agreed = ends.flatMap((slot) => headers.agreedHeader(slot) ?? []);
  const starts: readonly BlockName[] = [cursor, ...agreed];
  return agreed.flatMap((end, index) => rangesBetween(starts[index], end.slot));
}

async function joinAllFrom(deps: RangeDeps, from: Cursor): Promise<Cursor> {
  for (let cursor = from; ; ) {
    const result = await deps.ledger.stagedRanges.join(cursor);
    if (result.kind === 'nothing') return cursor;
    cursor = result.kind === 'committed' ? result.cursor : await cursorOrStart(deps);
  }
}

function rangesBetween(after: BlockName | undefined, to: bigint): readonly CatchUpRange[] {
  if (after === undefined) return [];
  const { slot, blockhash, height } = after;
  return [{ after: { slot: slot.toString(), blockhash, height: height.toString() }, to: to.toString() }];
}

async function unstagedRanges(
  ledger: Ledger,
  ranges: readonly CatchUpRange[],
): Promise<readonly CatchUpRange[]> {
  const stagedEnds = new Set((await ledger.stagedRanges.list()).map(({ toSlot }) => toSlot.toString()));
  return ranges.filter(({ to }) => !stagedEnds.has(to));
}

/** Stages blocks until the range is complete, a block is missing, or `signal` is aborted. True if it is complete. */
async function stageRange(
  deps: RangeDeps,
  { after, to }: CatchUpRange,
  signal: AbortSignal,
): Promise<boolean> {
  const { ledger, matcher, slowMs = STALLED_MS } = deps;
  const reader = chainReader(deps, deps.budgetBytes ?? BUDGET_BYTES, signal);
  const last = BigInt(to);
  let cursor: BlockName = {
    slot: BigInt(after.slot),
    blockhash: after.blockhash,
    height: BigInt(after.height),
  };
  while (cursor.slot < last && !signal.aborted) {
    const reading = await tickUntilSettled(
      reader.readAfter(cursor, last),
      Math.min(slowMs, REPORT_EVERY_MS),
      (waitedMs) => ignoreFailure(() => reportWaiting(deps, BigInt(after.slot), waitedMs, slowMs)),
    );
    if (reading.kind !== 'linked') return false;
    const from = cursor.slot + 1n;
    const { result, blocks } = await matcher.commit(reading.blocks, (matched) =>
      ledger.stagedRanges.stage({ from, to: matched.blocks.at(-1)?.header.slot ?? last, ...matched }),
    );
    if (result === 'staged') cursor = blocks.at(-1)?.header ?? cursor;
  }
  return cursor.slot >= last;
}

/** Reports a slow scan if the range begins at the cursor, because all other ranges wait for this one. */
async function reportWaiting(
  { ledger, pool }: RangeDeps,
  begin: bigint,
  waitedMs: number,
  slowMs: number,
): Promise<void> {
  if (waitedMs < slowMs || (await ledger.scan.cursor())?.slot !== begin)
    return ledger.scanStatus.recordActivity(true);
  const status = await ledger.scanStatus.report(slowReport(await tipOrNull(pool), waitedMs), waitedMs);
  await new ScanAlarms(ledger, slowMs).update(status);
}

/** Runs `work` and ignores its error, because the caller repeats the work at the next interval. */
async function ignoreFailure(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isOperational(error)) log.error('the state of the deposit scan cannot be stored', { error });
  }
}
