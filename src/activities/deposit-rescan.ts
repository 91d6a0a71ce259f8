import { CancelledFailure, cancellationSignal } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { BlockHeader } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import { lowest } from '../domain/extremes.ts';
import type { RescanOrder, RescanResult } from '../domain/rescan.ts';
import type { BlockName } from '../domain/scan-walk.ts';
import { slotsOf } from '../domain/slots.ts';
import type { ClosedGap } from '../ledger/gaps.ts';
import type { RescanProgress, RescanRow } from '../ledger/rescans.ts';
import { HeaderBook, type ListedHeader } from '../solana/scan/header-book.ts';
import { beating } from './beating.ts';
import { blockWitnesses } from './block-witnesses.ts';
import { openReader, type ScannerDeps } from './deposit-scanner.ts';
import { haltAfter } from './scan-alarms.ts';

/** The blocks of so many slots are held. */
const SLOTS_AT_ONCE = 8n;
/** Each is asked of as many nodes as a quorum has. */
const BLOCKS_AT_ONCE = 4;
const BUDGET_BYTES = 16 * 1024 * 1024;

/** Reads committed blocks again. */
export function createDepositRescan(deps: ScannerDeps) {
  const { rescans } = deps.ledger;
  return {
    /**
     * Puts on record what was missed in these blocks, which stay where they are, with an alarm; another amount than the one on record is
     * one, too. Of a gap that was closed it reads what nodes have by now, as far as that links to the block before. Goes on from where
     * the record says that a try before it has come to. Throws InvalidRequest for blocks whose headers are pruned, and as
     * {@link blockWitnesses} does: the record then says what stands in the way.
     */
    async rescan({ who, why, ...range }: RescanOrder): Promise<RescanResult> {
      const run = await rescans.begin({ ...slotsOf(range), who, why });
      try {
        return await beating(() => readAll(deps, run));
      } catch (error) {
        // What this try failed by counts, also where the record cannot be told.
        if (!(error instanceof CancelledFailure))
          await rescans.note(run.position, haltAfter(error).why).catch(() => undefined);
        throw error;
      }
    },
  };
}

async function readAll(
  deps: ScannerDeps,
  { position, fromSlot, toSlot, readTo }: RescanRow,
): Promise<RescanResult> {
  const { ledger } = deps;
  const cursor = await ledger.scan.cursor();
  const last = lowest([toSlot, cursor?.slot ?? toSlot]);
  for (let next = readTo === null ? fromSlot : readTo + 1n; next <= last; next += SLOTS_AT_ONCE) {
    cancellationSignal().throwIfAborted();
    await readAgain(deps, position, next, lowest([last, next + SLOTS_AT_ONCE - 1n]));
  }
  let inGaps = 0;
  for (const gap of await ledger.gaps.closedBetween(fromSlot, last))
    inGaps += await readGap(deps, position, gap);
  const { blocks, found } = await ledger.rescans.end(position, inGaps);
  return { blocks, found };
}

/** The blocks of these slots whose headers are on record. */
async function readAgain(deps: ScannerDeps, rescan: bigint, from: bigint, to: bigint): Promise<void> {
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
 * The block of a header on record with its transactions as a quorum lists them, or all nodes that have it. Throws NoHealthyNode where
 * one that does not answer now may know better: what one node leaves out would be read again, and missed again.
 */
function listedAs(header: BlockHeader, listed: HeaderBook): ListedHeader {
  const known = listed.named(header);
  if (known !== undefined) return known;
  const what = `block ${header.blockhash} of slot ${header.slot}`;
  throw new DomainError('NoHealthyNode', `too few nodes agree on the transactions of ${what}`);
}

/** What nodes have by now of a gap; how many blocks it is. */
async function readGap(
  deps: ScannerDeps,
  rescan: bigint,
  { below, toSlot, above }: ClosedGap,
): Promise<number> {
  const reader = openReader(deps, BUDGET_BYTES);
  let count = 0;
  for (let last: BlockName | undefined = below ?? undefined; last !== undefined && last.slot < toSlot; ) {
    cancellationSignal().throwIfAborted();
    const reading = await reader.after(last, above);
    if (reading.kind !== 'linked') break;
    const headers: readonly ListedHeader[] = reading.blocks
      .filter(({ header }) => header.slot <= toSlot)
      .map(({ header, listed }) => ({ ...header, listed }));
    await putOnRecord(deps, rescan, headers);
    count += headers.length;
    last = headers.at(-1);
  }
  return count;
}

/** What these blocks brought, and with the last of it how far the rescan is then. */
async function putOnRecord(
  deps: ScannerDeps,
  rescan: bigint,
  headers: readonly ListedHeader[],
  progress?: RescanProgress,
): Promise<void> {
  const { ledger, matcher } = deps;
  const shown = await pLimit(BLOCKS_AT_ONCE).map(headers, (header) => blockWitnesses(deps, header));
  for (let left = shown.flat(); left.length > 0; ) {
    const matched = await matcher.match(left);
    const rest = left.slice(matched.blocks.length);
    const result = await ledger.rescans.record(rescan, matched, rest.length === 0 ? progress : undefined);
    if (result === 'committed') left = rest;
    else matcher.forget();
  }
}
