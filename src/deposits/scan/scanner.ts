import type { ScanRange } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Cursor } from '../../ledger/scan/scan-cursor.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import {
  type BrokenLink,
  ChainReader,
  type Reading,
  type ShowBlock,
} from '../../solana/scan/chain-reader.ts';
import { finalizedTip } from '../../solana/scan/frontier.ts';
import { type ExpectedBlock, showBlock } from '../../solana/scan/searched-block.ts';
import { startBlock } from '../../solana/scan/start.ts';
import type { DepositMatcher, Watch, WatchedBlock } from './matcher.ts';

export interface ScannerDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
  /** Where a scan that was never begun begins; the newest finalized block where it is not set. */
  readonly startSlot?: bigint | undefined;
  /** Bytes of answers that one reader holds or asks for. Default 64 MiB for the scan, 16 MiB for a range of a catch-up. */
  readonly budgetBytes?: number;
}

export type BlockDeps = Pick<ScannerDeps, 'pool' | 'matcher'>;

/** How far one step brought the scan. `lost`: the chain of the nodes does not hold our cursor. */
export type Step = { readonly cursor: Cursor; readonly tip: bigint; readonly blocks: number } & (
  | { readonly stand: 'goes on' | 'idle' }
  | { readonly stand: 'lost'; readonly link: BrokenLink }
  | { readonly stand: 'gap'; readonly gap: ScanRange; readonly link: BrokenLink }
);

/** Blocks of one reading, and requests for blocks at once. */
const BATCH = 32;
const AT_ONCE = 8;
/** Of the answers that one reader holds. */
const BUDGET_BYTES = 64 * 1024 * 1024;

/** Moves the cursor over proved blocks, each committed with what it brought. */
export class DepositScanner {
  readonly #deps: ScannerDeps;
  readonly #reader: ChainReader<WatchedBlock>;

  /** Blocks that nodes are asked for are given up once `end` is aborted. */
  constructor(deps: ScannerDeps, end?: AbortSignal) {
    this.#deps = deps;
    this.#reader = openReader(deps, deps.budgetBytes ?? BUDGET_BYTES, end);
  }

  /**
   * Reads what follows the cursor and commits it. Where another scanner was faster nothing is lost: the next step begins at its
   * cursor. Throws ScanPaused, and as `NodePool.read` does where nodes are away or contradict each other.
   */
  async step(): Promise<Step> {
    const { ledger, pool, matcher } = this.#deps;
    const cursor = await cursorOrStart(this.#deps);
    const tip = await finalizedTip(pool);
    const reading = await this.#reader.after(cursor, tip);
    if (reading.kind !== 'linked') return this.#still(cursor, tip, reading);
    const matched = await matcher.match(reading.blocks);
    const committed = await ledger.scan.commit({ expected: cursor, ...matched });
    if (committed === 'unknown_version') matcher.forget();
    const after = (await ledger.scan.cursor()) ?? cursor;
    return {
      cursor: after,
      tip,
      blocks: committed === 'committed' ? matched.blocks.length : 0,
      stand: 'goes on',
    };
  }

  async #still(
    cursor: Cursor,
    tip: bigint,
    reading: Exclude<Reading<WatchedBlock>, { kind: 'linked' }>,
  ): Promise<Step> {
    const stand = { cursor, tip, blocks: 0 };
    if (reading.kind === 'idle') return { ...stand, stand: 'idle' };
    if (reading.kind === 'contradicted') return { ...stand, stand: 'lost', link: reading };
    const gap = await this.#deps.ledger.gaps.open(cursor, reading.child);
    if (gap === undefined) return { ...stand, stand: 'goes on' };
    const range = { from: gap.fromSlot.toString(), to: gap.toSlot.toString() };
    return { ...stand, stand: 'gap', gap: range, link: reading };
  }
}

/** A reader of blocks that are searched as they come, until `end` is aborted. */
export function openReader(
  deps: BlockDeps,
  budgetBytes: number,
  end?: AbortSignal,
): ChainReader<WatchedBlock> {
  return new ChainReader(deps.pool, openBlocks(deps), { batch: BATCH, atOnce: AT_ONCE, budgetBytes, end });
}

/** Finalized blocks from any node, searched for all wallets that are on record. */
export function openBlocks({ pool, matcher }: BlockDeps): ShowBlock<WatchedBlock> {
  const read = async (
    slot: bigint,
    watch: Watch,
    end?: AbortSignal,
    expected?: ExpectedBlock,
  ): Promise<WatchedBlock> => {
    const block = await pool.read(
      (node, over) => showBlock(node, slot, 'finalized', watch.set, expected, over),
      end,
    );
    const { header, listed } = block;
    return { ...block, watch, readAgain: (newer) => read(slot, newer, undefined, { ...header, listed }) };
  };
  return async (slot, end, expected) => read(slot, await matcher.watch(), end, expected);
}

/** The cursor to read on from; before the first block, the one behind which the scan begins. Throws ScanPaused. */
export async function cursorOrStart({ ledger, pool, startSlot }: ScannerDeps): Promise<Cursor> {
  await ledger.scanPauses.assertNone();
  return (await ledger.scan.cursor()) ?? ledger.scan.start(await startBlock(pool, startSlot));
}
