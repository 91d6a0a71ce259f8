import { cancellationSignal, log } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { BlockId } from '../../domain/block-link.ts';
import type { CatchUpPlan, CatchUpRange, JoinEnd, RangeEnd } from '../../domain/scan.ts';
import { lowest } from '../../domain/units.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Cursor } from '../../ledger/scan/scan-cursor.ts';
import { withAbort } from '../../solana/rpc/with-abort.ts';
import { finalizedTip, listedSlots } from '../../solana/scan/frontier.ts';
import { HeaderQuorum } from '../../solana/scan/header-quorum.ts';
import { haltAfter, isOperational, ScanAlarms, STALLED_MS } from './failure-alerts.ts';
import { REPORT_EVERY_MS, slowReport, tipOrNull } from './report.ts';
import { cursorOrStart, openReader, type ScannerDeps } from './scanner.ts';
import { meanwhile } from './side-loop.ts';

export interface RangeDeps extends ScannerDeps {
  /** Lag in slots above which ranges are read in parallel. Default 500. */
  readonly catchUpSlots?: bigint;
  /** Blocks per range. Default 256. */
  readonly rangeBlocks?: number;
}

const CATCH_UP_SLOTS = 500n;
const RANGE_BLOCKS = 256;
/** Slots per plan. The next plan starts after these are joined. */
const PLAN_SLOTS = 8_000n;
/** Ranges that one process reads at once, and bytes per range. */
const RANGES_AT_ONCE = 2;
const BUDGET_BYTES = 16 * 1024 * 1024;

/**
 * Catches up in parallel: any worker stages ranges, which are joined to the cursor in order. Operational
 * errors are returned as a reason: the tail scan meets them too and raises the alert.
 */
export function createDepositRanges(deps: RangeDeps) {
  const turn = pLimit(RANGES_AT_ONCE);
  return {
    planCatchUp(): Promise<CatchUpPlan> {
      return orReason(
        () => whileReporting(deps, plan(deps), false),
        (reason) => ({ behind: false, ranges: [], reason }),
      );
    },

    /** Stages the blocks of a range as far as they link. The tail scan proves missing ones a gap. Idempotent. */
    scanRange(range: CatchUpRange): Promise<RangeEnd> {
      return orReason<RangeEnd>(
        async () => {
          const stage = (over: AbortSignal) => stageRange(deps, range, over);
          const complete = await turn(() => withAbort(stage, cancellationSignal()));
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
    if (!isOperational(error)) log.error('reading ahead failed', { error });
    return otherwise(haltAfter(error).reason);
  }
}

async function plan(deps: RangeDeps): Promise<CatchUpPlan> {
  const { ledger, catchUpSlots = CATCH_UP_SLOTS } = deps;
  const tip = await tipSeen(deps);
  const cursor = await cursorOrStart(deps);
  const behind = tip - cursor.slot > catchUpSlots;
  const ranges = behind ? await unstaged(ledger, await rangesAhead(deps, cursor, tip)) : [];
  return { behind, ranges, reason: null };
}

/** Stored also while the scan is paused: API clients see the lag. */
async function tipSeen({ ledger, pool }: RangeDeps): Promise<bigint> {
  const tip = await finalizedTip(pool);
  await ledger.scan.seen(tip);
  return tip;
}

/** Waits for `work`, and shows meanwhile that a worker is at work. */
function whileReporting<T>({ ledger }: RangeDeps, work: Promise<T>, isCatchingUp: boolean): Promise<T> {
  return meanwhile(work, REPORT_EVERY_MS, () => quietly(() => ledger.scanStatus.touch(isCatchingUp)));
}

async function joinStaged(deps: RangeDeps): Promise<JoinEnd> {
  const { ledger } = deps;
  const first = await cursorOrStart(deps);
  const cursor = await join(deps, first);
  const joined = Number(cursor.height - first.height);
  const tip = await tipSeen(deps);
  if (joined === 0) return { joined, status: await ledger.scanStatus.read(), reason: null };
  const status = await ledger.scanStatus.report({ state: 'catch-up', tip, reason: null });
  await new ScanAlarms(ledger).note(status);
  return { joined, status, reason: null };
}

async function rangesAhead(
  { pool, rangeBlocks = RANGE_BLOCKS }: RangeDeps,
  cursor: Cursor,
  tip: bigint,
): Promise<readonly CatchUpRange[]> {
  const to = lowest([tip, cursor.slot + PLAN_SLOTS]);
  const listed = await listedSlots(pool, cursor.slot + 1n, to);
  const ends = listed.filter((_, index) => (index + 1) % rangeBlocks === 0 || index === listed.length - 1);
  const headers = new HeaderQuorum(pool);
  await headers.request(ends);
  const agreed = ends.flatMap((slot) => headers.agreed(slot) ?? []);
  const starts: readonly BlockId[] = [cursor, ...agreed];
  return agreed.flatMap((end, index) => rangeAfter(starts[index], end.slot));
}

async function join(deps: RangeDeps, from: Cursor): Promise<Cursor> {
  for (let cursor = from; ; ) {
    const joined = await deps.ledger.stagedRanges.join(cursor);
    if (joined.kind === 'nothing') return cursor;
    cursor = joined.kind === 'committed' ? joined.cursor : await cursorOrStart(deps);
  }
}

function rangeAfter(after: BlockId | undefined, to: bigint): readonly CatchUpRange[] {
  if (after === undefined) return [];
  const { slot, blockhash, height } = after;
  return [{ after: { slot: slot.toString(), blockhash, height: height.toString() }, to: to.toString() }];
}

/** Ranges that no earlier catch-up has staged completely. */
async function unstaged(ledger: Ledger, ranges: readonly CatchUpRange[]): Promise<readonly CatchUpRange[]> {
  const staged = new Set((await ledger.stagedRanges.list()).map(({ toSlot }) => toSlot.toString()));
  return ranges.filter(({ to }) => !staged.has(to));
}

/** True if the range is staged completely before `over` is aborted. */
async function stageRange(deps: RangeDeps, { after, to }: CatchUpRange, over: AbortSignal): Promise<boolean> {
  const { ledger, matcher, slowMs = STALLED_MS } = deps;
  const reader = openReader(deps, deps.budgetBytes ?? BUDGET_BYTES, over);
  const last = BigInt(to);
  let cursor: BlockId = {
    slot: BigInt(after.slot),
    blockhash: after.blockhash,
    height: BigInt(after.height),
  };
  while (cursor.slot < last && !over.aborted) {
    const reading = await meanwhile(
      reader.after(cursor, last),
      Math.min(slowMs, REPORT_EVERY_MS),
      (waitedMs) => quietly(() => reportWaiting(deps, BigInt(after.slot), waitedMs, slowMs)),
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

/** Reports a slow first range: all others wait for the range at the cursor, so the scan is stalled. */
async function reportWaiting(
  { ledger, pool }: RangeDeps,
  begin: bigint,
  waitedMs: number,
  slowMs: number,
): Promise<void> {
  if (waitedMs < slowMs || (await ledger.scan.cursor())?.slot !== begin) return ledger.scanStatus.touch(true);
  const status = await ledger.scanStatus.report(slowReport(await tipOrNull(pool), waitedMs), waitedMs);
  await new ScanAlarms(ledger, slowMs).note(status);
}

/** The work is repeated, so its error is ignored. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isOperational(error)) log.error('the state of the scan cannot be stored', { error });
  }
}
