/** One node's finalized value of a nonce account, and how far the node had finalized before that request. */
export interface ShownNonce {
  /** Null if there is no nonce account. */
  readonly nonce: string | null;
  readonly slot: bigint;
  readonly height: bigint;
}

/** The value that a quorum agrees on; `slot` is the lowest slot among its answers. */
export interface AgreedNonce {
  readonly nonce: string | null;
  readonly slot: bigint;
}

/**
 * The account's value that a quorum agrees on, among nodes that have finalized more than `end`; null if there is
 * none. A bank from before the end of the database gap may have an older value than a lost attempt uses.
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
 * True if an attempt that was lost in a database restore may use this value. False if there is no account, or a live
 * attempt in the database uses the value: two attempts never share a nonce value.
 */
export function mayBeLost({ nonce }: AgreedNonce, carriedOnRecord: string | null): boolean {
  return nonce !== null && nonce !== carriedOnRecord;
}

/**
 * True if no transaction with `nonce` can run any more: a quorum of nodes past `end` has another value, or no
 * account. Their banks are later than any use of the nonce in the gap.
 */
export function isGone(nonce: string, end: bigint, shown: readonly ShownNonce[], quorum: number): boolean {
  return shown.filter((one) => one.height > end && one.nonce !== nonce).length >= quorum;
}
