import type { StoredAccount } from './vm.ts';

interface AccountVersion {
  readonly slot: number;
  readonly before: StoredAccount | null;
}

/** The accounts that one block changed, each in its state before the block; null if the account did not exist. */
export type Undo = ReadonlyMap<string, StoredAccount | null>;

/**
 * Earlier states of accounts, for nodes that lag and for forks. Holds the changes of the newest `depth` blocks.
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

  pop(): Undo {
    const undo = this.#blocks.pop() ?? new Map();
    this.#drop(undo, 'newest');
    return undo;
  }

  /** The account after the block in `slot`; undefined if no stored later block has changed the account. */
  at(address: string, slot: number): StoredAccount | null | undefined {
    return this.#changes.get(address)?.find((change) => change.slot > slot)?.before;
  }

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
