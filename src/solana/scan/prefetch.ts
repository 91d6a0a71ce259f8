import pLimit from 'p-limit';
import { lowest } from '../../domain/units.ts';
import { withAbort } from '../rpc/with-abort.ts';

export interface SizedBlock {
  readonly size: number;
}

export interface PrefetchOptions {
  readonly concurrency: number;
  /**
   * Maximum bytes of loaded blocks and of blocks being loaded. A block being loaded counts as the largest block so far.
   * If blocks suddenly grow, up to `concurrency` larger blocks can exceed this limit.
   */
  readonly budgetBytes: number;
  /** Abort it when the reader stops, so that running requests are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

type LoadBlock<Block> = (slot: bigint, signal: AbortSignal) => Promise<Block>;

interface LoadingBlock<Block> {
  readonly block: Promise<Block | null>;
  readonly controller: AbortController;
}

/**
 * Fetches blocks before they are needed, lowest slot first, within `budgetBytes`. The lowest block is fetched even if
 * the budget is used up, so that a reader that takes blocks in order never waits for memory.
 */
export class Prefetch<Block extends SizedBlock> {
  readonly #load: LoadBlock<Block>;
  readonly #options: PrefetchOptions;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #blocks = new Map<bigint, LoadingBlock<Block>>();
  readonly #sizes = new Map<bigint, number>();
  #largest = 0;

  constructor(load: LoadBlock<Block>, options: PrefetchOptions) {
    this.#load = load;
    this.#options = options;
    this.#limit = pLimit(options.concurrency);
  }

  /** Bytes of the loaded blocks, plus an estimate for the blocks being loaded. */
  get bytes(): number {
    return this.#loadedBytes() + (this.#blocks.size - this.#sizes.size) * this.#largest;
  }

  /**
   * Starts to load the first of `slots` (ascending), and the next ones while the budget allows. Returns the slots whose
   * blocks are loaded or being loaded.
   */
  request(slots: readonly bigint[]): readonly bigint[] {
    for (const [index, slot] of slots.entries()) {
      if (this.#blocks.has(slot)) continue;
      if (index > 0 && this.#isFull()) break;
      this.#start(slot);
    }
    return slots.filter((slot) => this.#blocks.has(slot));
  }

  /**
   * The block of `slot`. Null if it failed to load, did not fit into the budget or was never requested; it can then be
   * requested again.
   */
  async take(slot: bigint): Promise<Block | null> {
    const block = (await this.#blocks.get(slot)?.block) ?? null;
    if (block === null) this.drop(slot);
    return block;
  }

  dropUpTo(slot: bigint): void {
    for (const loaded of this.#blocks.keys()) if (loaded <= slot) this.drop(loaded);
  }

  /** Cancels the request for a block or discards the loaded block, so that it can be requested again. */
  drop(slot: bigint): void {
    this.#blocks.get(slot)?.controller.abort();
    this.#blocks.delete(slot);
    this.#sizes.delete(slot);
  }

  #isFull(): boolean {
    // Until one block is loaded, the size of blocks is unknown: only one is loaded, because several could exceed the
    // budget.
    if (this.#largest === 0) return this.#blocks.size > 0;
    return this.bytes + this.#largest > this.#options.budgetBytes;
  }

  #start(slot: bigint): void {
    const controller = new AbortController();
    const load = async (): Promise<Block | null> => {
      controller.signal.throwIfAborted();
      if (!this.#hasRoom(slot)) {
        this.drop(slot);
        return null;
      }
      const loaded = await withAbort(
        (signal) => this.#load(slot, signal),
        controller.signal,
        this.#options.signal,
      );
      this.#largest = Math.max(this.#largest, loaded.size);
      if (!controller.signal.aborted) this.#sizes.set(slot, loaded.size);
      return loaded;
    };
    // No error is lost: the reader requests a missing block itself, and that request fails with the same error.
    const block = this.#limit(load).catch(() => null);
    this.#blocks.set(slot, { block, controller });
  }

  /** Checked again when the load starts, because blocks may have become larger after the request. */
  #hasRoom(slot: bigint): boolean {
    const expected = this.#loadedBytes() + this.#limit.activeCount * this.#largest;
    return expected <= this.#options.budgetBytes || slot === lowest([slot, ...this.#blocks.keys()]);
  }

  #loadedBytes(): number {
    let bytes = 0;
    for (const size of this.#sizes.values()) bytes += size;
    return bytes;
  }
}
