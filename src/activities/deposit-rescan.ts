import { activityInfo, cancellationSignal } from '@temporalio/activity';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { BlockHeader } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import { lowest } from '../domain/extremes.ts';
import type { RescanOrder } from '../domain/scan.ts';
import type { BlockName } from '../domain/scan-walk.ts';
import type { ClosedGap } from '../ledger/gaps.ts';
import { HeaderBook, type ListedHeader } from '../solana/scan/header-book.ts';
import { beating } from './beating.ts';
import type { WatchedBlock } from './deposit-matcher.ts';
import { openBlocks, openReader, type ScannerDeps } from './deposit-scanner.ts';

const SLOTS_AT_ONCE = 16n;
const BLOCKS_AT_ONCE = 8;
const BUDGET_BYTES = 16 * 1024 * 1024;

/** What a try before this one, which ended with its worker, had read last. */
const beat = z.object({
  next: z
    .string()
    .regex(/^[0-9]{1,20}$/)
    .transform(BigInt),
  blocks: z.int().nonnegative(),
});

/** Reads committed blocks again. */
export function createDepositRescan(deps: ScannerDeps) {
  const { ledger } = deps;
  return {
    /**
     * Puts on record what was missed in these blocks, which stay where they are, with an alarm; another amount than the one on record is
     * one, too. Of a gap that was closed it reads what nodes have by now, as far as that links to the block before. Answers how many
     * blocks were read. Throws InvalidRequest for blocks whose headers are pruned, and as `NodePool.read` does.
     */
    async rescan({ from, to, who, why }: RescanOrder): Promise<{ readonly blocks: number }> {
      const range = { from: BigInt(from), to: BigInt(to) };
      await ledger.rescans.begin({ ...range, who, why });
      const cursor = await ledger.scan.cursor();
      const last = lowest([range.to, cursor?.slot ?? range.to]);
      let { next, blocks } = beat.safeParse(activityInfo().heartbeatDetails).data ?? {
        next: range.from,
        blocks: 0,
      };
      const read = async (): Promise<number> => {
        for (; next <= last; next += SLOTS_AT_ONCE) {
          cancellationSignal().throwIfAborted();
          blocks += await readAgain(deps, next, lowest([last, next + SLOTS_AT_ONCE - 1n]));
        }
        return blocks + (await readGaps(deps, range.from, last));
      };
      const all = await beating(read, () => ({ next: next.toString(), blocks }));
      await ledger.rescans.end(range);
      return { blocks: all };
    },
  };
}

/** The blocks of these slots whose headers are on record; how many they are. */
async function readAgain(deps: ScannerDeps, from: bigint, to: bigint): Promise<number> {
  const { ledger, pool } = deps;
  const headers = await ledger.scan.headersBetween(from, to);
  if (headers.length === 0) return 0;
  const listed = new HeaderBook(pool);
  await listed.learn(headers.map(({ slot }) => slot));
  const show = openBlocks(deps);
  const blocks = await pLimit(BLOCKS_AT_ONCE).map(headers, (header) =>
    show(header.slot, listedAs(header, listed)),
  );
  await putOnRecord(deps, blocks);
  return headers.length;
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

/** What nodes have by now of the gaps in these slots; how many blocks it is. */
async function readGaps(deps: ScannerDeps, from: bigint, to: bigint): Promise<number> {
  let blocks = 0;
  for (const gap of await deps.ledger.gaps.closedBetween(from, to)) blocks += await readGap(deps, gap);
  return blocks;
}

async function readGap(deps: ScannerDeps, { below, toSlot, above }: ClosedGap): Promise<number> {
  const reader = openReader(deps, BUDGET_BYTES);
  let count = 0;
  for (let last: BlockName | undefined = below ?? undefined; last !== undefined && last.slot < toSlot; ) {
    cancellationSignal().throwIfAborted();
    const reading = await reader.after(last, above);
    if (reading.kind !== 'linked') break;
    const blocks = reading.blocks.filter(({ header }) => header.slot <= toSlot);
    await putOnRecord(deps, blocks);
    count += blocks.length;
    last = blocks.at(-1)?.header;
  }
  return count;
}

async function putOnRecord({ ledger, matcher }: ScannerDeps, blocks: readonly WatchedBlock[]): Promise<void> {
  for (let left = blocks; left.length > 0; ) {
    const matched = await matcher.match(left);
    const result = await ledger.scan.upsert(matched, { missed: 'alarm' });
    if (result === 'committed') left = left.slice(matched.blocks.length);
    else matcher.forget();
  }
}
