import { cancellationSignal } from '@temporalio/activity';
import type { ListedHeader } from '../../solana/scan/header-quorum.ts';
import type { WatchedBlock } from '../scan/matcher.ts';
import type { BlockDeps } from '../scan/scanner.ts';
import { blockWitnesses } from './agreed-block.ts';

/** Of the answers that one reader holds. */
const BUDGET_BYTES = 64 * 1024 * 1024;
/** Blocks that suddenly grow are so many of the longest, however small those before were. */
const BLOCKS_AT_ONCE = 4;

/** What nodes show of blocks, as many blocks at a time as there is room for: it learns how large they are from those that it has read. */
export class WitnessBatches {
  readonly #deps: BlockDeps;
  #largest: number | null = null;

  constructor(deps: BlockDeps) {
    this.#deps = deps;
  }

  /** The witnesses of each of the first of these blocks, at least of one. Throws as {@link blockWitnesses} does. */
  async first(headers: readonly ListedHeader[]): Promise<readonly (readonly WatchedBlock[])[]> {
    const batch = headers.slice(0, this.#fitting());
    const end = cancellationSignal();
    const shown = await Promise.all(batch.map((header) => blockWitnesses(this.#deps, header, end)));
    this.#largest = Math.max(this.#largest ?? 0, ...shown.flat().map(({ size }) => size));
    return shown;
  }

  /** Each is asked of as many nodes as a quorum has. Nothing came yet: then one alone shows how large blocks are. */
  #fitting(): number {
    if (this.#largest === null) return 1;
    const fitting = Math.floor(BUDGET_BYTES / Math.max(1, this.#largest * this.#deps.pool.quorum));
    return Math.min(Math.max(1, fitting), BLOCKS_AT_ONCE);
  }
}
