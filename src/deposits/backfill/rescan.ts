import { cancellationSignal } from '@temporalio/activity';
import type { Alarm } from '../../domain/alerts.ts';
import { GAP_UNREAD, type RescanOrder, type RescanResult } from '../../domain/backfill.ts';
import type { BlockId } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { rangeOf, type ScanRange } from '../../domain/scan.ts';
import { highest, lowest } from '../../domain/units.ts';
import type { BackfillProgress, BackfillRow, BackfillTry, GapsRead } from '../../ledger/scan/backfills.ts';
import type { ClosedGap } from '../../ledger/scan/gaps.ts';
import { isSameFinding } from '../credits/agreed-transaction.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import { openReader, type ScannerDeps } from '../scan/scanner.ts';
import { BlockCopies } from './block-copies.ts';
import { runStored } from './run-stored.ts';

/** Slots after which progress is stored. */
const SLOTS_AT_ONCE = 8n;
const BUDGET_BYTES = 16 * 1024 * 1024;

interface RescanDeps extends ScannerDeps {
  readonly copies: BlockCopies;
}

export function createDepositRescan(deps: ScannerDeps) {
  return {
    /**
     * Scans committed blocks again and stores missed deposits. Each missing deposit or different amount
     * raises an alert. A closed gap is read as far as blocks link to the one before; the rest is `unread`.
     * Resumes at the stored progress.
     * @throws InvalidRequest like `Backfills.begin`
     * @throws like `BlockCopies`; the rescan's row has the cause
     */
    async rescan(order: RescanOrder): Promise<RescanResult> {
      const { blocks, found, unread } = await runStored(deps.ledger, order, (run) =>
        readAll({ ...deps, copies: new BlockCopies(deps) }, run),
      );
      return { blocks, found, unread };
    },
  };
}

async function readAll(deps: RescanDeps, run: BackfillRow & BackfillTry): Promise<BackfillRow> {
  const { fromSlot, toSlot, readTo } = run;
  const { ledger } = deps;
  for (let next = readTo === null ? fromSlot : readTo + 1n; next <= toSlot; next += SLOTS_AT_ONCE) {
    cancellationSignal().throwIfAborted();
    const last = lowest([toSlot, next + SLOTS_AT_ONCE - 1n]);
    const headers = await ledger.scan.headersBetween(next, last);
    await storeBlocks(deps, run, headers, { blocks: headers.length, readTo: last });
  }
  return ledger.backfills.end(run, await readGaps(deps, run));
}

/** Reads the closed gaps that the rescan meets, with one alert for each that is not read yet. */
async function readGaps(deps: RescanDeps, run: BackfillRow & BackfillTry): Promise<GapsRead> {
  const { alerts, gaps } = deps.ledger;
  let blocks = 0;
  const unread: ScanRange[] = [];
  const read: ClosedGap[] = [];
  for (const gap of await gaps.closedBetween(run.fromSlot, run.toSlot)) {
    const result = await readGap(deps, run, gap);
    blocks += result.blocks;
    const from = highest([result.readTo + 1n, run.fromSlot]);
    const to = lowest([gap.toSlot, run.toSlot]);
    if (from <= to) unread.push(rangeOf({ from, to }));
    if (result.isAgreed && result.readTo >= gap.toSlot) read.push(gap);
    else await alerts.raise(unreadAlarm(gap));
  }
  for (const gap of read) await alerts.close('audit_incomplete', subjectOf(gap));
  return { blocks, unread, read };
}

function unreadAlarm(gap: ClosedGap): Alarm {
  const details = rangeOf({ from: gap.fromSlot, to: gap.toSlot });
  const message = `slots ${details.from} to ${details.to}: ${GAP_UNREAD}`;
  return { kind: 'audit_incomplete', subject: subjectOf(gap), message, details: { ...details } };
}

function subjectOf({ fromSlot, toSlot }: ClosedGap): string {
  return `${fromSlot}-${toSlot}`;
}

/**
 * Reads the blocks of a gap that nodes have by now. Returns their number and the last slot. `isAgreed`: a quorum of
 * nodes returned each of them, so that no single node can have hidden a transfer.
 */
async function readGap(
  deps: RescanDeps,
  rescan: BackfillTry,
  { below, fromSlot, toSlot, above }: ClosedGap,
): Promise<BackfillProgress & { readonly isAgreed: boolean }> {
  const reader = openReader(deps, BUDGET_BYTES, cancellationSignal());
  let [blocks, readTo, isAgreed] = [0, fromSlot - 1n, true];
  for (let last: BlockId | undefined = below ?? undefined; last !== undefined && last.slot < toSlot; ) {
    cancellationSignal().throwIfAborted();
    const reading = await reader.after(last, above);
    if (reading.kind !== 'linked') break;
    const headers = reading.blocks.map(({ header }) => header).filter(({ slot }) => slot <= toSlot);
    isAgreed = (await storeBlocks(deps, rescan, headers)) && isAgreed;
    blocks += headers.length;
    last = headers.at(-1);
    // Without a block in the gap, its remaining slots were skipped.
    readTo = last?.slot ?? toSlot;
  }
  return { blocks, readTo, isAgreed };
}

/**
 * Stores the findings of these blocks; the rescan's progress is stored with the last one. What one copy has and
 * another lacks is pending until a quorum confirms the transaction itself. True if a quorum returned each block.
 */
async function storeBlocks(
  deps: RescanDeps,
  rescan: BackfillTry,
  headers: readonly BlockHeader[],
  progress?: BackfillProgress,
): Promise<boolean> {
  let isAgreed = true;
  for (let unread = headers; unread.length > 0; ) {
    const copies = await deps.copies.first(unread);
    unread = unread.slice(copies.length);
    isAgreed &&= copies.every(({ length }) => length >= deps.pool.quorum);
    const different = await Promise.all(copies.map((of) => differentAmong(deps, of)));
    await commit(deps, rescan, different.flat(), unread.length === 0 ? progress : undefined);
  }
  return isAgreed;
}

/** One copy of those with the same transfers: the others would be committed in vain. */
async function differentAmong(
  { matcher }: RescanDeps,
  copies: readonly WatchedBlock[],
): Promise<readonly WatchedBlock[]> {
  const found = await matcher.findings(copies);
  return found.filter(
    (one, at) => found.findIndex(({ finding }) => isSameFinding(finding, one.finding)) === at,
  );
}

async function commit(
  { ledger, matcher }: RescanDeps,
  rescan: BackfillTry,
  blocks: readonly WatchedBlock[],
  progress?: BackfillProgress,
): Promise<void> {
  for (let left = blocks; left.length > 0; ) {
    const { result, blocks: found } = await matcher.commit(left, (matched) => {
      const isAll = matched.blocks.length === left.length;
      return ledger.backfills.record(rescan, matched, isAll ? progress : undefined);
    });
    if (result === 'committed') left = left.slice(found.length);
  }
}
