import type { Block } from './records.ts';
import type { StoredAccount } from './vm.ts';

interface Change {
  readonly slot: number;
  readonly before: StoredAccount | null;
}

/** Old states of accounts for as many blocks as a reader may lag behind. Memory is bounded by `depth` blocks of changes. */
export class AccountHistory {
  readonly #depth: number;
  readonly #changes = new Map<string, Change[]>();
  #blocks: Block[] = [];

  constructor(depth: number) {
    this.#depth = depth;
  }

  append(block: Block): void {
    for (const [address, before] of block.undo) {
      const list = this.#changes.get(address);
      if (list) list.push({ slot: block.slot, before });
      else this.#changes.set(address, [{ slot: block.slot, before }]);
    }
    this.#blocks.push(block);
    if (this.#blocks.length > this.#depth) this.#drop(this.#blocks.shift(), 'oldest');
  }

  /** Forgets the newest block, whose changes the caller undoes. */
  pop(): void {
    this.#drop(this.#blocks.pop(), 'newest');
  }

  /** The account as the block of `slot` left it; undefined where it has not changed since. */
  at(address: string, slot: number): StoredAccount | null | undefined {
    return this.#changes.get(address)?.find((change) => change.slot > slot)?.before;
  }

  /** Addresses with a remembered change. */
  changedAddresses(): Iterable<string> {
    return this.#changes.keys();
  }

  #drop(block: Block | undefined, end: 'oldest' | 'newest'): void {
    for (const address of block?.undo.keys() ?? []) {
      const list = this.#changes.get(address);
      if (end === 'oldest') list?.shift();
      else list?.pop();
      if (list?.length === 0) this.#changes.delete(address);
    }
  }
}
