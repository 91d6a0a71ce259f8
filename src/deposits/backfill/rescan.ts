import { activityInfo, CancelledFailure, cancellationSignal } from '@temporalio/activity';
import { highest, lowest } from '../../domain/bigint.ts';
import type { BlockName } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import type { RescanOrder, RescanResult } from '../../domain/rescan.ts';
import type { ScanRange } from '../../domain/scan.ts';
import { rangeOf, slotsOf } from '../../domain/slots.ts';
import type { ClosedGap } from '../../ledger/scan/gaps.ts';
import type { RescanProgress, RescanRow, RescanTry } from '../../ledger/scan/rescans.ts';
import { haltAfter } from '../scan/failure-alerts.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import { openReader, type ScannerDeps } from '../scan/scanner.ts';
import { BlockCopies } from './block-copies.ts';

/** Slots after which progress is stored. */
const SLOTS_AT_ONCE = 8n;
const BUDGET_BYTES = 16 * 1024 * 1024;

interface RescanDeps extends ScannerDeps {
  readonly copies: BlockCopies;
}

export function createDepositRescan(deps: ScannerDeps) {
  const { rescans } = deps.ledger;
  return {
    /**
     * Scans committed blocks again and stores missed deposits. Each missing deposit or different amount
     * raises an alert. A closed gap is read as far as blocks link to the one before; the rest is `unread`.
     * Resumes at the stored progress.
     * @throws InvalidRequest like `Rescans.begin`
     * @throws like `BlockCopies`; the rescan's row has the cause
     */
    async rescan({ actor, reason, ...range }: RescanOrder): Promise<RescanResult> {
      const order = { ...slotsOf(range), actor, reason };
      const run = await rescans.begin(order, activityInfo().workflowExecution?.runId);
      // An earlier try stored its end, but Temporal did not receive the result.
      if (run.endedAt !== null) return resultOf(run);
      try {
        return await readAll({ ...deps, copies: new BlockCopies(deps) }, run);
      } catch (error) {
        // The error of this try matters, even if the database cannot store it.
        if (!(error instanceof CancelledFailure))
          await rescans.note(run, haltAfter(error).reason).catch(() => undefined);
        throw error;
      }
    },
  };
}

async function readAll(deps: RescanDeps, run: RescanRow & RescanTry): Promise<RescanResult> {
  const { fromSlot, toSlot, readTo } = run;
  const { ledger } = deps;
  for (let next = readTo === null ? fromSlot : readTo + 1n; next <= toSlot; next += SLOTS_AT_ONCE) {
    cancellationSignal().throwIfAborted();
    const last = lowest([toSlot, next + SLOTS_AT_ONCE - 1n]);
    const headers = await ledger.scan.headersBetween(next, last);
    await putOnRecord(deps, run, headers, { blocks: headers.length, readTo: last });
  }
  let blocks = 0;
  const unread: ScanRange[] = [];
  for (const gap of await ledger.gaps.closedBetween(fromSlot, toSlot)) {
    const read = await readGap(deps, run, gap);
    blocks += read.blocks;
    const from = highest([read.readTo + 1n, fromSlot]);
    const to = lowest([gap.toSlot, toSlot]);
    if (from <= to) unread.push(rangeOf({ from, to }));
  }
  return resultOf(await ledger.rescans.end(run, { blocks, unread }));
}

function resultOf({ blocks, found, unread }: RescanRow): RescanResult {
  return { blocks, found, unread };
}

/** Reads the blocks of a gap that nodes have by now. Returns their number and the last slot. */
async function readGap(
  deps: RescanDeps,
  rescan: RescanTry,
  { below, fromSlot, toSlot, above }: ClosedGap,
): Promise<RescanProgress> {
  const reader = openReader(deps, BUDGET_BYTES, cancellationSignal());
  let [blocks, readTo] = [0, fromSlot - 1n];
  for (let last: BlockName | undefined = below ?? undefined; last !== undefined && last.slot < toSlot; ) {
    cancellationSignal().throwIfAborted();
    const reading = await reader.after(last, above);
    if (reading.kind !== 'linked') break;
    const headers = reading.blocks.map(({ header }) => header).filter(({ slot }) => slot <= toSlot);
    await putOnRecord(deps, rescan, headers);
    blocks += headers.length;
    last = headers.at(-1);
    // Without a block in the gap, its remaining slots were skipped.
    readTo = last?.slot ?? toSlot;
  }
  return { blocks, readTo };
}

/**
 * Stores the findings of these blocks; the rescan's progress is stored with the last one. What one copy has and
 * another lacks is pending until a quorum confirms the transaction itself.
 */
async function putOnRecord(
  deps: RescanDeps,
  rescan: RescanTry,
  headers: readonly BlockHeader[],
  progress?: RescanProgress,
): Promise<void> {
  for (let unread = headers; unread.length > 0; ) {
    const copies = await deps.copies.first(unread);
    unread = unread.slice(copies.length);
    await commit(deps, rescan, copies.flat(), unread.length === 0 ? progress : undefined);
  }
}

async function commit(
  { ledger, matcher }: RescanDeps,
  rescan: RescanTry,
  blocks: readonly WatchedBlock[],
  progress?: RescanProgress,
): Promise<void> {
  for (let left = blocks; left.length > 0; ) {
    const matched = await matcher.match(left);
    const rest = left.slice(matched.blocks.length);
    const result = await ledger.rescans.record(rescan, matched, rest.length === 0 ? progress : undefined);
    if (result === 'committed') left = rest;
    else matcher.forget();
  }
}
