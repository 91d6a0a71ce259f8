import type { ScanRange } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Cursor } from '../../ledger/scan/scan-cursor.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import {
  type BrokenLink,
  ChainReader,
  type ChainReading,
  type FetchBlock,
} from '../../solana/scan/chain-reader.ts';
import { finalizedTip } from '../../solana/scan/frontier.ts';
import { type ExpectedBlock, fetchBlock } from '../../solana/scan/searched-block.ts';
import { startBlock } from '../../solana/scan/start.ts';
import type { DepositMatcher, WatchedBlock, WatchState } from './matcher.ts';

export interface ScannerDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
  /** First slot of a new scan. Default: the newest finalized block. */
  readonly startSlot?: bigint | undefined;
  /** Maximum bytes of prefetched blocks per reader. Default: 64 MiB for the tail, 16 MiB for a range. */
  readonly budgetBytes?: number;
  /** Time after which a slow read is reported, and a waiting scan raises an alert. Default 60,000. */
  readonly slowMs?: number;
}

export type BlockDeps = Pick<ScannerDeps, 'pool' | 'matcher'>;

/** Result of one step; `blocks`: number of committed blocks. `lost`: the nodes' chain does not contain our cursor. */
export type ScanStep = { readonly cursor: Cursor; readonly tip: bigint; readonly blocks: number } & (
  | { readonly state: 'continues' | 'idle' }
  | { readonly state: 'lost'; readonly link: BrokenLink }
  | { readonly state: 'gap'; readonly gap: ScanRange; readonly link: BrokenLink }
);

const BATCH_BLOCKS = 32;
const MAX_CONCURRENT_REQUESTS = 8;
const BUDGET_BYTES = 64 * 1024 * 1024;

/** Moves the cursor over linked blocks. Each block is committed together with its deposits, outflows and spends. */
export class DepositScanner {
  readonly #deps: ScannerDeps;
  readonly #reader: ChainReader<WatchedBlock>;

  /** Block requests are cancelled as soon as `signal` is aborted. */
  constructor(deps: ScannerDeps, signal?: AbortSignal) {
    this.#deps = deps;
    this.#reader = chainReader(deps, deps.budgetBytes ?? BUDGET_BYTES, signal);
  }

  /**
   * Reads the blocks after the cursor and commits them. If another scanner has moved the cursor meanwhile, nothing is
   * committed, and the next step starts at the new cursor. Throws ScanPaused, and as `NodePool.read` does.
   */
  async step(): Promise<ScanStep> {
    const { ledger, pool, matcher } = this.#deps;
    const cursor = await cursorOrStart(this.#deps);
    const tip = await finalizedTip(pool);
    const reading = await this.#reader.readAfter(cursor, tip);
    if (reading.kind !== 'linked') return this.#stepWithoutBlocks(cursor, tip, reading);
    const { result, blocks } = await matcher.commit(reading.blocks, (matched) =>
      ledger.scan.commit({ expected: cursor, ...matched }),
    );
    const after = (await ledger.scan.cursor()) ?? cursor;
    return {
      cursor: after,
      tip,
      blocks: result === 'committed' ? blocks.length : 0,
      state: 'continues',
    };
  }

  async #stepWithoutBlocks(
    cursor: Cursor,
    tip: bigint,
    reading: Exclude<ChainReading<WatchedBlock>, { kind: 'linked' }>,
  ): Promise<ScanStep> {
    const step = { cursor, tip, blocks: 0 };
    if (reading.kind === 'idle') return { ...step, state: 'idle' };
    if (reading.kind === 'contradicted') return { ...step, state: 'lost', link: reading };
    const gap = await this.#deps.ledger.gaps.open(cursor, reading.child);
    if (gap === undefined) return { ...step, state: 'continues' };
    const range = { from: gap.fromSlot.toString(), to: gap.toSlot.toString() };
    return { ...step, state: 'gap', gap: range, link: reading };
  }
}

export function chainReader(
  deps: BlockDeps,
  budgetBytes: number,
  signal?: AbortSignal,
): ChainReader<WatchedBlock> {
  return new ChainReader(deps.pool, blockFetcher(deps), {
    batchSize: BATCH_BLOCKS,
    concurrency: MAX_CONCURRENT_REQUESTS,
    budgetBytes,
    signal,
  });
}

/** Returns a function that fetches a finalized block from any node and searches it for all watched wallets. */
function blockFetcher({ pool, matcher }: BlockDeps): FetchBlock<WatchedBlock> {
  const read = async (
    slot: bigint,
    watch: WatchState,
    signal?: AbortSignal,
    expected?: ExpectedBlock,
  ): Promise<WatchedBlock> => {
    const block = await pool.read(
      (node, nodeSignal) =>
        fetchBlock(node, { slot, commitment: 'finalized', watched: watch.set, expected, signal: nodeSignal }),
      signal,
    );
    const { header, signaturesHash } = block;
    return {
      ...block,
      watch,
      readAgain: (newer) => read(slot, newer, undefined, { ...header, signaturesHash }),
    };
  };
  return async (slot, signal, expected) => read(slot, await matcher.watch(), signal, expected);
}

/**
 * The cursor. If there is none, the scan is started: the cursor is the block before its first block. Throws ScanPaused.
 */
export async function cursorOrStart({ ledger, pool, startSlot }: ScannerDeps): Promise<Cursor> {
  await ledger.scanPauses.assertNone();
  return (await ledger.scan.cursor()) ?? ledger.scan.start(await startBlock(pool, startSlot));
}
