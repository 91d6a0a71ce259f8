import { allKeys, type Block, type TransactionRecord } from './records.ts';

export interface LedgerLimits {
  readonly blocks: number;
  readonly transactions: number;
}

/** The blocks of the current chain, indexed by slot, signature and address. The oldest blocks are evicted at the limits. */
export class BlockStore {
  readonly #limits: LedgerLimits;
  #blocks: Block[] = [];
  #firstIndex = 0;
  #storedTransactions = 0;
  #totalTransactions = 0n;
  readonly #bySlot = new Map<number, number>();
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #byAddress = new Map<string, TransactionRecord[]>();

  constructor(limits: LedgerLimits) {
    this.#limits = limits;
  }

  get tip(): Block {
    const tip = this.#blocks.at(-1);
    if (!tip) throw new Error('the chain has no genesis block');
    return tip;
  }

  get first(): Block {
    return this.#blocks[this.#firstIndex] ?? this.tip;
  }

  /** Number of all transactions of the chain, including those in evicted blocks. */
  get transactionCount(): bigint {
    return this.#totalTransactions;
  }

  /** The block `depth` blocks below the tip; the oldest stored block if `depth` is too large. */
  below(depth: number): Block {
    return this.#blocks[Math.max(this.#firstIndex, this.#blocks.length - 1 - depth)] ?? this.first;
  }

  depthOf(slot: number): number {
    const index = this.#bySlot.get(slot);
    return index === undefined ? -1 : this.#blocks.length - 1 - index;
  }

  bySlot(slot: number): Block | undefined {
    const index = this.#bySlot.get(slot);
    return index === undefined ? undefined : this.#blocks[index];
  }

  /** At most `limit` blocks, from slot `start` to slot `end` (both included), whose slot `accepts` returns true for. */
  range(
    start: number,
    end: number,
    limit = Number.POSITIVE_INFINITY,
    accepts: (slot: number) => boolean = () => true,
  ): Block[] {
    const found: Block[] = [];
    for (
      let index = this.#lowerBound(start);
      index < this.#blocks.length && found.length < limit;
      index += 1
    ) {
      const block = this.#blocks[index];
      if (!block || block.slot > end) break;
      if (accepts(block.slot)) found.push(block);
    }
    return found;
  }

  /** The newest block up to this slot; the oldest stored block if there is none. */
  newestUpTo(slot: number): Block {
    return this.#blocks[Math.max(this.#firstIndex, this.#lowerBound(slot + 1) - 1)] ?? this.first;
  }

  record(signature: string): TransactionRecord | undefined {
    return this.#bySignature.get(signature);
  }

  recordsOf(address: string): readonly TransactionRecord[] {
    return this.#byAddress.get(address) ?? [];
  }

  append(block: Block): void {
    this.#bySlot.set(block.slot, this.#blocks.length);
    this.#blocks.push(block);
    for (const record of block.transactions) {
      this.#bySignature.set(record.transaction.signature, record);
      for (const key of new Set(allKeys(record.transaction, record.meta.loaded))) {
        const list = this.#byAddress.get(key);
        if (list) list.push(record);
        else this.#byAddress.set(key, [record]);
      }
    }
    this.#storedTransactions += block.transactions.length;
    this.#totalTransactions += BigInt(block.transactions.length);
    this.#prune();
  }

  pop(): Block {
    const block = this.tip;
    this.#blocks.pop();
    this.#bySlot.delete(block.slot);
    this.#totalTransactions -= BigInt(block.transactions.length);
    this.#forget(block, 'newest');
    return block;
  }

  #lowerBound(slot: number): number {
    let low = this.#firstIndex;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle]?.slot ?? 0) < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forget(block: Block, end: 'oldest' | 'newest'): void {
    this.#storedTransactions -= block.transactions.length;
    const records = new Set(block.transactions);
    const addresses = new Set<string>();
    for (const record of records) {
      if (this.#bySignature.get(record.transaction.signature) === record) {
        this.#bySignature.delete(record.transaction.signature);
      }
      for (const key of allKeys(record.transaction, record.meta.loaded)) addresses.add(key);
    }
    for (const key of addresses) this.#forgetAddress(key, records, end);
  }

  #forgetAddress(key: string, records: ReadonlySet<TransactionRecord>, end: 'oldest' | 'newest'): void {
    const list = this.#byAddress.get(key);
    if (!list) return;
    let count = 0;
    const at = (index: number): TransactionRecord | undefined =>
      list[end === 'oldest' ? index : list.length - 1 - index];
    for (let record = at(count); record && records.has(record); record = at(count)) count += 1;
    if (count === list.length) this.#byAddress.delete(key);
    else if (end === 'oldest') list.splice(0, count);
    else list.splice(list.length - count, count);
  }

  #prune(): void {
    const { blocks, transactions } = this.#limits;
    while (this.#blocks.length - this.#firstIndex > blocks || this.#storedTransactions > transactions) {
      const oldest = this.#blocks[this.#firstIndex];
      if (!oldest || this.#blocks.length - this.#firstIndex <= 512) return;
      this.#bySlot.delete(oldest.slot);
      this.#forget(oldest, 'oldest');
      this.#firstIndex += 1;
    }
    if (this.#firstIndex > 4096 && this.#firstIndex * 2 > this.#blocks.length) this.#compact();
  }

  #compact(): void {
    this.#blocks = this.#blocks.slice(this.#firstIndex);
    this.#firstIndex = 0;
    this.#bySlot.clear();
    for (const [index, block] of this.#blocks.entries()) this.#bySlot.set(block.slot, index);
  }
}
