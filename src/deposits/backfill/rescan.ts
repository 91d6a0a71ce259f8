import { activityInfo, CancelledFailure, cancellationSignal } from '@temporalio/activity';
import { highest, lowest } from '../../domain/bigint.ts';
import type { BlockName } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { RescanOrder, RescanResult } from '../../domain/rescan.ts';
import type { ScanRange } from '../../domain/scan.ts';
import { rangeOf, slotsOf } from '../../domain/slots.ts';
import type { ClosedGap } from '../../ledger/scan/gaps.ts';
import type { RescanProgress, RescanRow, RescanTry } from '../../ledger/scan/rescans.ts';
import { HeaderBook, type ListedHeader } from '../../solana/scan/header-quorum.ts';
import { haltAfter } from '../scan/failure-alerts.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import { openReader, type ScannerDeps } from '../scan/scanner.ts';
import { AgreedBlockBatches } from './agreed-block-batches.ts';

/** Slots after which progress is stored. */
const SLOTS_AT_ONCE = 8n;
const BUDGET_BYTES = 16 * 1024 * 1024;

interface RescanDeps extends ScannerDeps {
  readonly witnesses: AgreedBlockBatches;
}

export function createDepositRescan(deps: ScannerDeps) {
  const { rescans } = deps.ledger;
  return {
    /**
     * Scans committed blocks again and stores missed deposits. Each missing deposit or different amount
     * raises an alert. A closed gap is read as far as blocks link to the one before; the rest is `unread`.
     * Resumes at the stored progress.
     * @throws InvalidRequest like `Rescans.begin`
     * @throws like `blockWitnesses`; the rescan's row has the cause
     */
    async rescan({ actor, reason, ...range }: RescanOrder): Promise<RescanResult> {
      const order = { ...slotsOf(range), actor, reason };
      const run = await rescans.begin(order, activityInfo().workflowExecution?.runId);
      // An earlier try stored its end, but Temporal did not receive the result.
      if (run.endedAt !== null) return resultOf(run);
      try {
        return await readAll({ ...deps, witnesses: new AgreedBlockBatches(deps) }, run);
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
    await readAgain(deps, run, next, lowest([toSlot, next + SLOTS_AT_ONCE - 1n]));
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

async function readAgain(deps: RescanDeps, rescan: RescanTry, from: bigint, to: bigint): Promise<void> {
  const { ledger, pool } = deps;
  const headers = await ledger.scan.headersBetween(from, to);
  const listed = new HeaderBook(pool);
  await listed.learn(headers.map(({ slot }) => slot));
  await putOnRecord(
    deps,
    rescan,
    headers.map((header) => listedAs(header, listed)),
    { blocks: headers.length, readTo: to },
  );
}

/**
 * The block of a stored header with its transactions as a quorum, or all nodes that have the block, list them. Throws
 * NoHealthyNode while a silent node may list more: a transaction that one node omits would be missed again.
 */
function listedAs(header: BlockHeader, listed: HeaderBook): ListedHeader {
  const known = listed.named(header);
  if (known !== undefined) return known;
  const what = `block ${header.blockhash} of slot ${header.slot}`;
  throw new DomainError('NoHealthyNode', `too few nodes agree on the transactions of ${what}`);
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
    const headers: readonly ListedHeader[] = reading.blocks
      .filter(({ header }) => header.slot <= toSlot)
      .map(({ header, listed }) => ({ ...header, listed }));
    await putOnRecord(deps, rescan, headers);
    blocks += headers.length;
    last = headers.at(-1);
    // Without a block in the gap, its remaining slots were skipped.
    readTo = last?.slot ?? toSlot;
  }
  return { blocks, readTo };
}

/** Stores the findings of these blocks; the rescan's progress is stored with the last one. */
async function putOnRecord(
  deps: RescanDeps,
  rescan: RescanTry,
  headers: readonly ListedHeader[],
  progress?: RescanProgress,
): Promise<void> {
  for (let unread = headers; unread.length > 0; ) {
    const shown = await deps.witnesses.first(unread);
    unread = unread.slice(shown.length);
    await commit(deps, rescan, shown.flat(), unread.length === 0 ? progress : undefined);
  }
}

async function commit(
  { ledger, matcher }: RescanDeps,
  rescan: RescanTry,
  blocks: readonly WatchedBlock[],
  progress?: RescanProgress,
): Promise<void> {
  for (let left = blocks; left.length > 0; ) {
    const { result, blocks: found } = await matcher.commit(left, (matched) => {
      const isAll = matched.blocks.length === left.length;
      return ledger.rescans.record(rescan, matched, isAll ? progress : undefined);
    });
    if (result === 'committed') left = left.slice(found.length);
  }
}
