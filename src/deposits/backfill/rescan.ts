import { cancellationSignal } from '@temporalio/activity';
import type { Alarm } from '../../domain/alerts.ts';
import { GAP_UNREAD, type RescanCommand, type RescanResult } from '../../domain/backfill.ts';
import type { BlockId } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { rangeOf, type ScanRange } from '../../domain/scan.ts';
import { highest, lowest } from '../../domain/units.ts';
import type { BackfillProgress, BackfillRow, BackfillTry, GapsRead } from '../../ledger/scan/backfills.ts';
import type { ClosedGap } from '../../ledger/scan/gaps.ts';
import { isSameFinding } from '../credits/agreed-transaction.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import { chainReader, type ScannerDeps } from '../scan/scanner.ts';
import { BlockCopies } from './block-copies.ts';
import { runStored } from './run-stored.ts';

/** Slots that are read before progress is stored. */
const SLOTS_PER_STEP = 8n;
const BUDGET_BYTES = 16 * 1024 * 1024;

interface RescanDeps extends ScannerDeps {
  readonly copies: BlockCopies;
}

export function createDepositRescan(deps: ScannerDeps) {
  return {
    /**
     * Scans committed blocks again and stores missed deposits. Each missing deposit or different amount raises an
     * alert. In a closed gap, the blocks that are linked to the block before the gap are read; the other slots are
     * `unread`. Resumes at the stored progress.
     * @throws InvalidRequest like `Backfills.begin`
     * @throws like `BlockCopies`; the error is also stored in the row of the rescan
     */
    async rescan(command: RescanCommand): Promise<RescanResult> {
      const { blocks, found, unread } = await runStored(deps.ledger, command, (run) =>
        rescanAll({ ...deps, copies: new BlockCopies(deps) }, run),
      );
      return { blocks, found, unread };
    },
  };
}

async function rescanAll(deps: RescanDeps, run: BackfillRow & BackfillTry): Promise<BackfillRow> {
  const { fromSlot, toSlot, readTo } = run;
  const { ledger } = deps;
  for (let next = readTo === null ? fromSlot : readTo + 1n; next <= toSlot; next += SLOTS_PER_STEP) {
    cancellationSignal().throwIfAborted();
    const last = lowest([toSlot, next + SLOTS_PER_STEP - 1n]);
    const headers = await ledger.scan.headersBetween(next, last);
    await storeBlocks(deps, run, headers, { blocks: headers.length, readTo: last });
  }
  return ledger.backfills.end(run, await readGaps(deps, run));
}

/** Reads the closed gaps in the slots of the rescan. Raises an alert for each gap that cannot be read completely. */
async function readGaps(deps: RescanDeps, run: BackfillRow & BackfillTry): Promise<GapsRead> {
  const { alerts, gaps } = deps.ledger;
  let blocks = 0;
  const unread: ScanRange[] = [];
  const completeGaps: ClosedGap[] = [];
  for (const gap of await gaps.closedBetween(run.fromSlot, run.toSlot)) {
    const result = await readGap(deps, run, gap);
    blocks += result.blocks;
    const from = highest([result.readTo + 1n, run.fromSlot]);
    const to = lowest([gap.toSlot, run.toSlot]);
    if (from <= to) unread.push(rangeOf({ from, to }));
    if (result.isAgreed && result.readTo >= gap.toSlot) completeGaps.push(gap);
    else await alerts.raise(unreadGapAlert(gap));
  }
  for (const gap of completeGaps) await alerts.close('audit_incomplete', subjectOf(gap));
  return { blocks, unread, read: completeGaps };
}

function unreadGapAlert(gap: ClosedGap): Alarm {
  const details = rangeOf({ from: gap.fromSlot, to: gap.toSlot });
  const message = `slots ${details.from} to ${details.to}: ${GAP_UNREAD}`;
  return { kind: 'audit_incomplete', subject: subjectOf(gap), message, details: { ...details } };
}

function subjectOf({ fromSlot, toSlot }: ClosedGap): string {
  return `${fromSlot}-${toSlot}`;
}

/**
 * Reads the blocks of a closed gap that nodes return now. `readTo`: the last slot that was read. `isAgreed`: true if a
 * quorum of nodes returned each block, so that no single node can have hidden a transfer.
 */
async function readGap(
  deps: RescanDeps,
  rescan: BackfillTry,
  { below, fromSlot, toSlot, above }: ClosedGap,
): Promise<BackfillProgress & { readonly isAgreed: boolean }> {
  const reader = chainReader(deps, BUDGET_BYTES, cancellationSignal());
  let [blocks, readTo, isAgreed] = [0, fromSlot - 1n, true];
  for (let last: BlockId | undefined = below ?? undefined; last !== undefined && last.slot < toSlot; ) {
    cancellationSignal().throwIfAborted();
    const reading = await reader.readAfter(last, above);
    if (reading.kind !== 'linked') break;
    const headers = reading.blocks.map(({ header }) => header).filter(({ slot }) => slot <= toSlot);
    isAgreed = (await storeBlocks(deps, rescan, headers)) && isAgreed;
    blocks += headers.length;
    last = headers.at(-1);
    // If the next linked block is above the gap, the remaining slots of the gap were skipped.
    readTo = last?.slot ?? toSlot;
  }
  return { blocks, readTo, isAgreed };
}

/**
 * Stores the findings of the blocks of `headers`, and `progress` together with the last block. A transfer that only
 * some copies contain stays pending until a quorum confirms its transaction. True if a quorum returned each block.
 */
async function storeBlocks(
  deps: RescanDeps,
  rescan: BackfillTry,
  headers: readonly BlockHeader[],
  progress?: BackfillProgress,
): Promise<boolean> {
  let isAgreed = true;
  for (let remaining = headers; remaining.length > 0; ) {
    const copies = await deps.copies.copyFirst(remaining);
    remaining = remaining.slice(copies.length);
    isAgreed &&= copies.every(({ length }) => length >= deps.pool.quorum);
    const distinct = await Promise.all(copies.map((of) => distinctCopies(deps, of)));
    await commit(deps, rescan, distinct.flat(), remaining.length === 0 ? progress : undefined);
  }
  return isAgreed;
}

/** The copies of one block with different transfers, because copies with the same transfers need only one commit. */
async function distinctCopies(
  { matcher }: RescanDeps,
  copies: readonly WatchedBlock[],
): Promise<readonly WatchedBlock[]> {
  const blocks = await matcher.findings(copies);
  return blocks.filter(
    (one, at) => blocks.findIndex(({ finding }) => isSameFinding(finding, one.finding)) === at,
  );
}

async function commit(
  { ledger, matcher }: RescanDeps,
  rescan: BackfillTry,
  blocks: readonly WatchedBlock[],
  progress?: BackfillProgress,
): Promise<void> {
  for (let remaining = blocks; remaining.length > 0; ) {
    const { result, blocks: committed } = await matcher.commit(remaining, (matched) => {
      const isAll = matched.blocks.length === remaining.length;
      return ledger.backfills.record(rescan, matched, isAll ? progress : undefined);
    });
    if (result === 'committed') remaining = remaining.slice(committed.length);
  }
}
