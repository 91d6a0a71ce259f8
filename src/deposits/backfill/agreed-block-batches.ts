import { cancellationSignal } from '@temporalio/activity';
import type { ListedHeader } from '../../solana/scan/header-quorum.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import type { BlockDeps } from '../scan/scanner.ts';
import { agreedBlocks } from './agreed-block.ts';

/** Bytes of answers that one reader may keep. */
const BUDGET_BYTES = 64 * 1024 * 1024;
/** Maximum batch: if blocks grow suddenly, at most this many are of the largest size. */
const BLOCKS_AT_ONCE = 4;

/** Reads a quorum's copies of blocks in batches that fit in memory, sized by the largest block so far. */
export class AgreedBlockBatches {
  readonly #deps: BlockDeps;
  #largest: number | null = null;

  constructor(deps: BlockDeps) {
    this.#deps = deps;
  }

  /** Copies by a quorum for each of the first blocks, at least for one. Throws like {@link agreedBlocks}. */
  async first(headers: readonly ListedHeader[]): Promise<readonly (readonly WatchedBlock[])[]> {
    const batch = headers.slice(0, this.#fitting());
    const end = cancellationSignal();
    const shown = await Promise.all(batch.map((header) => agreedBlocks(this.#deps, header, end)));
    this.#largest = Math.max(this.#largest ?? 0, ...shown.flat().map(({ size }) => size));
    return shown;
  }

  /** Batch size. Each block is read from a quorum of nodes. The first batch is one block, to learn the size. */
  #fitting(): number {
    if (this.#largest === null) return 1;
    const fitting = Math.floor(BUDGET_BYTES / Math.max(1, this.#largest * this.#deps.pool.quorum));
    return Math.min(Math.max(1, fitting), BLOCKS_AT_ONCE);
  }
}
