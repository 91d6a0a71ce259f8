import type { StoredAccount } from './vm.ts';

interface AccountVersion {
  readonly slot: number;
  readonly before: StoredAccount | null;
}

/** The accounts that one block changed, each as it was before; null where it did not exist. */
export type Undo = ReadonlyMap<string, StoredAccount | null>;

/**
 * Old states of accounts for as many blocks as a reader may lag behind, or a fork may take back. Memory is bounded by `depth` blocks of
 * changes.
 */
export class AccountVersions {
  readonly #depth: number;
  readonly #changes = new Map<string, AccountVersion[]>();
  readonly #blocks: Undo[] = [];

  constructor(depth: number) {
    this.#depth = depth;
  }

  append(slot: number, undo: Undo): void {
    for (const [address, before] of undo) {
      const list = this.#changes.get(address);
      if (list) list.push({ slot, before });
      else this.#changes.set(address, [{ slot, before }]);
    }
    this.#blocks.push(undo);
    if (this.#blocks.length > this.#depth) this.#drop(this.#blocks.shift(), 'oldest');
  }

  /** Forgets the newest block; gives the changes that the caller has to undo. */
  pop(): Undo {
    const undo = this.#blocks.pop() ?? new Map();
    this.#drop(undo, 'newest');
    return undo;
  }

  /** The account as the block of `slot` left it; undefined where it has not changed since. */
  at(address: string, slot: number): StoredAccount | null | undefined {
    return this.#changes.get(address)?.find((change) => change.slot > slot)?.before;
  }

  /** Addresses with a remembered change. */
  changedAddresses(): Iterable<string> {
    return this.#changes.keys();
  }

  #drop(undo: Undo | undefined, end: 'oldest' | 'newest'): void {
    for (const address of undo?.keys() ?? []) {
      const list = this.#changes.get(address);
      if (end === 'oldest') list?.shift();
      else list?.pop();
      if (list?.length === 0) this.#changes.delete(address);
    }
  }
}
