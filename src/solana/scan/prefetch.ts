import pLimit from 'p-limit';
import { lowest } from '../../domain/bigint.ts';
import { givingUp } from '../rpc/giving-up.ts';

/** What is held for one slot, and how much memory that takes. */
export interface Sized {
  readonly size: number;
}

export interface PrefetchOptions {
  /** Requests at once. */
  readonly atOnce: number;
  /**
   * Bytes that may be held or on their way. What is on its way counts as the largest that ever came: blocks that grow all at once take
   * so many of the longest as are asked for at once.
   */
  readonly budgetBytes: number;
  /** Aborted when nobody reads on: what is on its way is given up then. */
  readonly end?: AbortSignal | undefined;
}

/** Loads the block of a slot, until `over` is aborted. */
type Load<Block> = (slot: bigint, over: AbortSignal) => Promise<Block>;

interface Loading<Block> {
  readonly block: Promise<Block | null>;
  readonly over: AbortController;
}

/**
 * Blocks fetched ahead of their use, the lowest slot first and never more than fits the budget, but for the lowest one: that is
 * always fetched, so that a reader who takes them in order never waits for room.
 */
export class Prefetch<Block extends Sized> {
  readonly #load: Load<Block>;
  readonly #options: PrefetchOptions;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #blocks = new Map<bigint, Loading<Block>>();
  readonly #sizes = new Map<bigint, number>();
  #largest = 0;

  constructor(load: Load<Block>, options: PrefetchOptions) {
    this.#load = load;
    this.#options = options;
    this.#limit = pLimit(options.atOnce);
  }

  /** Bytes held, and expected of what is on its way. */
  get bytes(): number {
    return this.#held() + (this.#blocks.size - this.#sizes.size) * this.#largest;
  }

  /** Starts the first of these ascending slots, and what else there is room for. Answers those that are held or on their way. */
  want(slots: readonly bigint[]): readonly bigint[] {
    for (const [index, slot] of slots.entries()) {
      if (this.#blocks.has(slot)) continue;
      if (index > 0 && this.#isFull()) break;
      this.#start(slot);
    }
    return slots.filter((slot) => this.#blocks.has(slot));
  }

  /** The block, null where it could not be loaded, found no room or was never wanted; that is forgotten, so that it can be wanted again. */
  async take(slot: bigint): Promise<Block | null> {
    const block = (await this.#blocks.get(slot)?.block) ?? null;
    if (block === null) this.#forget(slot);
    return block;
  }

  /** Forgets every block up to `slot`. */
  dropTo(slot: bigint): void {
    for (const held of this.#blocks.keys()) if (held <= slot) this.#forget(held);
  }

  /** Forgets one block: what is wanted next is loaded anew. */
  drop(slot: bigint): void {
    this.#forget(slot);
  }

  #isFull(): boolean {
    // Nothing came yet: then the first alone shows how large blocks are, as many of the largest at once would take more than there is.
    if (this.#largest === 0) return this.#blocks.size > 0;
    return this.bytes + this.#largest > this.#options.budgetBytes;
  }

  #start(slot: bigint): void {
    const over = new AbortController();
    const load = async (): Promise<Block | null> => {
      over.signal.throwIfAborted();
      if (!this.#hasRoom(slot)) {
        this.#forget(slot);
        return null;
      }
      const loaded = await givingUp((given) => this.#load(slot, given), over.signal, this.#options.end);
      this.#largest = Math.max(this.#largest, loaded.size);
      if (!over.signal.aborted) this.#sizes.set(slot, loaded.size);
      return loaded;
    };
    const block = this.#limit(load).catch(() => null);
    this.#blocks.set(slot, { block, over });
  }

  /** When its turn has come: blocks may have grown since it was wanted. */
  #hasRoom(slot: bigint): boolean {
    const expected = this.#held() + this.#limit.activeCount * this.#largest;
    return expected <= this.#options.budgetBytes || slot === lowest([slot, ...this.#blocks.keys()]);
  }

  #held(): number {
    let held = 0;
    for (const size of this.#sizes.values()) held += size;
    return held;
  }

  #forget(slot: bigint): void {
    this.#blocks.get(slot)?.over.abort();
    this.#blocks.delete(slot);
    this.#sizes.delete(slot);
  }
}
