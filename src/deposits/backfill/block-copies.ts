import { cancellationSignal } from '@temporalio/activity';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import { isBlockMissing } from '../../solana/scan/header-quorum.ts';
import { fetchBlock, fetchBlockOrNull, type SearchedBlock } from '../../solana/scan/searched-block.ts';
import type { WatchedBlock, WatchState } from '../scan/matcher.ts';
import type { BlockDeps } from '../scan/scanner.ts';

/** Maximum bytes of block copies in memory. */
const BUDGET_BYTES = 64 * 1024 * 1024;
/** Small, so that a sudden growth of blocks cannot exceed the memory by much. */
const MAX_BATCH_BLOCKS = 4;

/**
 * Reads committed blocks again, each from a quorum of nodes: at least one of them is honest, so that its copy has every
 * transfer. The largest block so far determines the size of a batch, so that the copies fit into memory.
 */
export class BlockCopies {
  readonly #deps: BlockDeps;
  #largestBytes: number | null = null;

  constructor(deps: BlockDeps) {
    this.#deps = deps;
  }

  /**
   * The copies of the first blocks, in order; at least of one block. Throws NoHealthyNode if too few nodes return a
   * block.
   */
  async copyFirst(headers: readonly BlockHeader[]): Promise<readonly (readonly WatchedBlock[])[]> {
    const watch = await this.#deps.matcher.watch();
    const batch = headers.slice(0, this.#batchBlocks());
    const copies = await Promise.all(batch.map((header) => copiesOf(this.#deps, header, watch)));
    this.#largestBytes = Math.max(this.#largestBytes ?? 0, ...copies.flat().map(({ size }) => size));
    return copies;
  }

  /** The first batch is one block, to learn the size. */
  #batchBlocks(): number {
    if (this.#largestBytes === null) return 1;
    const fitting = Math.floor(BUDGET_BYTES / Math.max(1, this.#largestBytes * this.#deps.pool.quorum));
    return Math.min(Math.max(1, fitting), MAX_BATCH_BLOCKS);
  }
}

/** The copies of one block from a quorum. Fewer are enough if every other node reports the block as missing. */
async function copiesOf(
  { pool }: BlockDeps,
  header: BlockHeader,
  watch: WatchState,
): Promise<readonly WatchedBlock[]> {
  const results = await pool.some(
    (node, signal) => blockOrNull(node, header, watch, signal),
    (block) => block !== null,
    cancellationSignal(),
  );
  const answers = results.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
  const copies = answers.flatMap((block) => block ?? []);
  if (copies.length >= pool.quorum || (copies.length > 0 && answers.length === pool.nodes.length))
    return copies;
  const failure = results.find(({ result }) => result.status === 'rejected')?.result;
  const cause: unknown = failure?.status === 'rejected' ? failure.reason : undefined;
  const message = `too few nodes return block ${header.blockhash} of slot ${header.slot}: ${copies.length} of ${pool.quorum}`;
  throw new DomainError('NoHealthyNode', message, {}, cause);
}

/** Null if the node reports the block as missing. */
async function blockOrNull(
  node: SolanaNode,
  header: BlockHeader,
  watch: WatchState,
  signal: AbortSignal,
): Promise<WatchedBlock | null> {
  const request = { slot: header.slot, commitment: 'finalized' } as const;
  const watched = (block: SearchedBlock, by: WatchState): WatchedBlock => ({
    ...block,
    header,
    watch: by,
    readAgain: async (newer) => {
      const expected = { ...header, signaturesHash: block.signaturesHash };
      return watched(await fetchBlock(node, { ...request, watched: newer.set, expected }), newer);
    },
  });
  try {
    const block = await fetchBlockOrNull(node, { ...request, watched: watch.set, expected: header, signal });
    return block === null ? null : watched(block, watch);
  } catch (error) {
    if (isBlockMissing(error)) return null;
    throw error;
  }
}
