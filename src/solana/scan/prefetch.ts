import pLimit from 'p-limit';
import { lowest } from '../../domain/units.ts';
import { withAbort } from '../rpc/with-abort.ts';

export interface SizedBlock {
  readonly size: number;
}

export interface PrefetchOptions {
  readonly concurrency: number;
  /**
   * Limit for loaded blocks and blocks being loaded. A block being loaded counts as the largest so far. If blocks
   * suddenly grow, up to `atOnce` of the new size exceed this estimate.
   */
  readonly budgetBytes: number;
  /** Aborted when the reader stops: running requests are given up then. */
  readonly signal?: AbortSignal | undefined;
}

type Load<Block> = (slot: bigint, signal: AbortSignal) => Promise<Block>;

interface LoadingBlock<Block> {
  readonly block: Promise<Block | null>;
  readonly controller: AbortController;
}

/**
 * Fetches blocks ahead of their use, lowest slot first, within the budget. The lowest block is always fetched, so
 * that a reader who takes blocks in order never waits for room.
 */
export class Prefetch<Block extends SizedBlock> {
  readonly #load: Load<Block>;
  readonly #options: PrefetchOptions;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #blocks = new Map<bigint, LoadingBlock<Block>>();
  readonly #sizes = new Map<bigint, number>();
  #largest = 0;

  constructor(load: Load<Block>, options: PrefetchOptions) {
    this.#load = load;
    this.#options = options;
    this.#limit = pLimit(options.concurrency);
  }

  /** Bytes of loaded blocks, plus the estimate for blocks being loaded. */
  get bytes(): number {
    return this.#loadedBytes() + (this.#blocks.size - this.#sizes.size) * this.#largest;
  }

  /** Starts the first of these ascending slots, and more while there is room. Returns those loaded or loading. */
  request(slots: readonly bigint[]): readonly bigint[] {
    for (const [index, slot] of slots.entries()) {
      if (this.#blocks.has(slot)) continue;
      if (index > 0 && this.#isFull()) break;
      this.#start(slot);
    }
    return slots.filter((slot) => this.#blocks.has(slot));
  }

  /** The block; null if it failed to load, had no room or was never requested. It can then be requested again. */
  async take(slot: bigint): Promise<Block | null> {
    const block = (await this.#blocks.get(slot)?.block) ?? null;
    if (block === null) this.drop(slot);
    return block;
  }

  dropUpTo(slot: bigint): void {
    for (const loaded of this.#blocks.keys()) if (loaded <= slot) this.drop(loaded);
  }

  /** Forgets one block, so that it can be loaded again. */
  drop(slot: bigint): void {
    this.#blocks.get(slot)?.controller.abort();
    this.#blocks.delete(slot);
    this.#sizes.delete(slot);
  }

  #isFull(): boolean {
    // Before the first block arrives, its size is unknown: only one block is loaded, because several could exceed the
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
    const block = this.#limit(load).catch(() => null);
    this.#blocks.set(slot, { block, controller: controller });
  }

  /** Checked when the load starts, because blocks may have grown since the request. */
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
