import type { DecodedTransaction } from '../encoding/wire.ts';
import { nextNonce, nonceAccountOf, readNonce, signedByAuthority } from './nonce.ts';
import type { Block } from './records.ts';
import type { AccountReader } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** A blockhash may be used while it is at most this many block heights old. */
export const MAX_AGE = 150;

/** Block heights after which a transaction is no longer remembered. */
const REMEMBERED = 2 * MAX_AGE;

/** How a transaction that may run got its lifetime. `nonceAccount` is set for a durable nonce. */
export type LifetimeCheckResult =
  | { readonly kind: 'valid'; readonly nonceAccount: string | null }
  | { readonly kind: 'refused'; readonly err: TransactionErrorJson };

/** Where a lifetime is checked: after the block of `height`, with the nonce seed and accounts of that moment. */
export interface LifetimeCheck {
  readonly height: number;
  readonly seed: string;
  readonly account: AccountReader;
  /** Message hashes of the block that is being made. */
  readonly open?: ReadonlySet<string>;
  /** Heights that a blockhash may be old; default {@link MAX_AGE}. */
  readonly maxAge?: number;
}

/** The blockhash queue and the status cache. */
export class BlockhashQueue {
  readonly #heights = new Map<string, number>();
  readonly #processed = new Map<string, number>();
  readonly #blocks: Block[] = [];

  append(block: Block): void {
    this.#heights.set(block.blockhash, block.height);
    for (const { transaction } of block.transactions)
      this.#processed.set(transaction.messageHash, block.height);
    this.#blocks.push(block);
    if (this.#blocks.length > REMEMBERED) this.#forget(this.#blocks.shift());
  }

  pop(): void {
    this.#forget(this.#blocks.pop());
  }

  /** Height of the block that carries the hash; null when it is unknown or older than the queue. */
  heightOf(blockhash: string): number | null {
    return this.#heights.get(blockhash) ?? null;
  }

  /** Whether the hash could be used in a block after the one of `height`. */
  isValid(blockhash: string, height: number, maxAge = MAX_AGE): boolean {
    const own = this.#heights.get(blockhash);
    return own !== undefined && own <= height && height - own <= maxAge;
  }

  /** Age first, then a durable nonce, then whether it was processed: the order of a validator. */
  check(
    transaction: DecodedTransaction,
    { height, seed, account, open, maxAge }: LifetimeCheck,
  ): LifetimeCheckResult {
    const { message, messageHash } = transaction;
    let nonceAccount: string | null = null;
    if (!this.isValid(message.blockhash, height, maxAge)) {
      nonceAccount = nonceAccountOf(message);
      const nonce = nonceAccount === null ? null : readNonce(account(nonceAccount));
      const usable =
        nonce?.nonce === message.blockhash &&
        nonce.nonce !== nextNonce(seed) &&
        signedByAuthority(message, nonce.authority);
      if (!usable) return { kind: 'refused', err: 'BlockhashNotFound' };
    }
    const done = this.#processed.get(messageHash);
    if (open?.has(messageHash) || (done !== undefined && done <= height))
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
