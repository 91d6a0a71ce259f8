import type { DecodedTransaction } from '../encoding/wire.ts';
import { isSignedByAuthority, nextNonce, nonceAccountOf, readNonce } from './nonce.ts';
import type { Block } from './records.ts';
import type { AccountReader } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** A transaction can land while its blockhash is at most this many blocks old. */
export const MAX_AGE = 150;

const MAX_QUEUED_BLOCKS = 2 * MAX_AGE;

/** Whether a transaction can land. `nonceAccount` is null if the transaction uses a recent blockhash. */
export type LifetimeCheckResult =
  | { readonly kind: 'valid'; readonly nonceAccount: string | null }
  | { readonly kind: 'refused'; readonly err: TransactionErrorJson };

/** The state for a lifetime check: the nonce seed and the accounts after the block at `height`. */
export interface LifetimeCheck {
  readonly height: number;
  readonly seed: string;
  readonly account: AccountReader;
  /** Message hashes of the transactions that the next block has included so far. */
  readonly hashesInNextBlock?: ReadonlySet<string>;
  /** Maximum age of a blockhash in blocks; default {@link MAX_AGE}. */
  readonly maxAge?: number;
}

export class BlockhashQueue {
  readonly #heights = new Map<string, number>();
  readonly #processed = new Map<string, number>();
  readonly #blocks: Block[] = [];

  append(block: Block): void {
    this.#heights.set(block.blockhash, block.height);
    for (const { transaction } of block.transactions)
      this.#processed.set(transaction.messageHash, block.height);
    this.#blocks.push(block);
    if (this.#blocks.length > MAX_QUEUED_BLOCKS) this.#forget(this.#blocks.shift());
  }

  pop(): void {
    this.#forget(this.#blocks.pop());
  }

  /** Height of the block with this hash; null if the queue does not contain the hash. */
  heightOf(blockhash: string): number | null {
    return this.#heights.get(blockhash) ?? null;
  }

  /** True if a transaction with this blockhash can land in the block after `height`. */
  isValid(blockhash: string, height: number, maxAge = MAX_AGE): boolean {
    const hashHeight = this.#heights.get(blockhash);
    return hashHeight !== undefined && hashHeight <= height && height - hashHeight <= maxAge;
  }

  /** Checks in the order of a validator: the age of the blockhash, a durable nonce, then whether the transaction was processed. */
  check(
    transaction: DecodedTransaction,
    { height, seed, account, hashesInNextBlock, maxAge }: LifetimeCheck,
  ): LifetimeCheckResult {
    const { message, messageHash } = transaction;
    let nonceAccount: string | null = null;
    if (!this.isValid(message.blockhash, height, maxAge)) {
      nonceAccount = nonceAccountOf(message);
      const nonce = nonceAccount === null ? null : readNonce(account(nonceAccount));
      const isUsable =
        nonce?.nonce === message.blockhash &&
        nonce.nonce !== nextNonce(seed) &&
        isSignedByAuthority(message, nonce.authority);
      if (!isUsable) return { kind: 'refused', err: 'BlockhashNotFound' };
    }
    const processedAt = this.#processed.get(messageHash);
    if (hashesInNextBlock?.has(messageHash) || (processedAt !== undefined && processedAt <= height))
      return { kind: 'refused', err: 'AlreadyProcessed' };
    return { kind: 'valid', nonceAccount };
  }

  #forget(block: Block | undefined): void {
    if (!block) return;
    this.#heights.delete(block.blockhash);
    for (const { transaction } of block.transactions) {
      if (this.#processed.get(transaction.messageHash) === block.height)
        this.#processed.delete(transaction.messageHash);
    }
  }
}
