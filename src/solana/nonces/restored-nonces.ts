/** What one node's finalized bank holds of a nonce account, and how far the node had finalized before it was asked. */
export interface ShownNonce {
  /** Null where there is no nonce account. */
  readonly nonce: string | null;
  /** Of the bank. */
  readonly slot: bigint;
  /** The node's finalized block height. */
  readonly height: bigint;
}

/** What a quorum agrees on; `slot` is the lowest at which any of them does. */
export interface AgreedNonce {
  readonly nonce: string | null;
  readonly slot: bigint;
}

/**
 * What a quorum of those that have finalized more than `end` agrees that the account holds; null where none does. A bank of before
 * the gap in the record counts for nothing: it may hold a value of before the one that a lost attempt carries.
 */
export function agreedNonce(end: bigint, shown: readonly ShownNonce[], quorum: number): AgreedNonce | null {
  const fresh = shown.filter(({ height }) => height > end);
  for (const { nonce } of fresh) {
    const slots = fresh.filter((other) => other.nonce === nonce).map(({ slot }) => slot);
    if (slots.length >= quorum)
      return { nonce, slot: slots.reduce((low, slot) => (slot < low ? slot : low)) };
  }
  return null;
}

/**
 * True where an attempt that only a lost record knew may carry this value. Not where there is no account, nor where a living attempt
 * on record carries it: no record ever lets two attempts carry the same value of the same account.
 */
export function mayBeLost({ nonce }: AgreedNonce, carriedOnRecord: string | null): boolean {
  return nonce !== null && nonce !== carriedOnRecord;
}

/**
 * True where no transaction that carries `nonce` can run any more: a quorum of those that have finalized more than `end`, and so have
 * held it if it was held in the gap, hold another value or no account.
 */
export function isGone(nonce: string, end: bigint, shown: readonly ShownNonce[], quorum: number): boolean {
  return shown.filter((one) => one.height > end && one.nonce !== nonce).length >= quorum;
}
