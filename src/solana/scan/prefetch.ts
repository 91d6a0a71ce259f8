import pLimit from 'p-limit';

/** What is held for one slot, and how much memory that takes. */
export interface Sized {
  readonly size: number;
}

export interface PrefetchOptions {
  /** Requests at once. */
  readonly atOnce: number;
  /** Bytes that may be held or on their way. What is on its way counts as the largest that ever came. */
  readonly budgetBytes: number;
}

type Load<Block> = (slot: bigint) => Promise<Block>;

/**
 * Blocks fetched ahead of their use, the lowest slot first and never more than fits the budget, but for the lowest one: that is
 * always fetched, so that a reader who takes them in order never waits for room.
 */
export class Prefetch<Block extends Sized> {
  readonly #load: Load<Block>;
  readonly #options: PrefetchOptions;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #blocks = new Map<bigint, Promise<Block | null>>();
  readonly #sizes = new Map<bigint, number>();
  #largest = 0;

  constructor(load: Load<Block>, options: PrefetchOptions) {
    this.#load = load;
    this.#options = options;
    this.#limit = pLimit(options.atOnce);
  }

  /** Bytes held, and expected of what is on its way. */
  get bytes(): number {
    let held = 0;
    for (const size of this.#sizes.values()) held += size;
    return held + (this.#blocks.size - this.#sizes.size) * this.#largest;
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

  /** The block, null where it could not be loaded or was never wanted; that is forgotten, so that it can be wanted again. */
  async take(slot: bigint): Promise<Block | null> {
    const block = (await this.#blocks.get(slot)) ?? null;
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
    const loading = this.#limit(() => this.#load(slot)).then(
      (block) => {
        this.#largest = Math.max(this.#largest, block.size);
        if (this.#blocks.get(slot) === loading) this.#sizes.set(slot, block.size);
        return block;
      },
      () => null,
    );
    this.#blocks.set(slot, loading);
  }

  #forget(slot: bigint): void {
    this.#blocks.delete(slot);
    this.#sizes.delete(slot);
  }
}
