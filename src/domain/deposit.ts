/** Why we look for a wallet: a user pays to it, or we pay from it (hot wallets, fee payers and nonce authorities). */
export type WatchKind = 'deposit' | 'hot';

export const DEPOSIT_STATES = ['pending', 'final', 'dropped', 'not_credited'] as const;

/**
 * Where a deposit is.
 *
 * - `pending`: seen, and not yet finalized or not yet confirmed by a quorum of nodes. It may have a {@link NotCreditedReason} already,
 *   which is one node's word: it ends by that of a quorum.
 * - `final`: arrived for good. Book it where it has a user: it has none where the address was nobody's when it came, or a restored record
 *   lost whose that was.
 * - `dropped`: was pending on a fork that is gone, or by the word of one node that a quorum denies; it is pending again should its slot
 *   be found to hold it.
 * - `not_credited`: arrived, and is not the user's to have, for a {@link NotCreditedReason}.
 */
export type DepositState = (typeof DEPOSIT_STATES)[number];

export const DEPOSIT_ADDRESS_STATES = ['auditing', 'free', 'assigned', 'used', 'doubtful'] as const;

/**
 * Where a deposit address is.
 *
 * - `auditing`: watched, and what came before is still looked for; then `free` or `used`.
 * - `free`: may be given out.
 * - `assigned`: one user's for ever.
 * - `used`: something arrived before it was assigned, so that it is never given out.
 * - `doubtful`: nobody had it in a record that was restored, so that a user may have it: kept back until an operator says that none has.
 */
export type DepositAddressState = (typeof DEPOSIT_ADDRESS_STATES)[number];

export const NOT_CREDITED_REASONS = [
  'nested_token_account',
  'owner_changed',
  'not_associated_account',
  'asset_changed',
  'unknown_mint',
  'deposits_off',
  'below_minimum',
  'internal',
  'hot_wallet',
] as const;

/**
 * Why what arrived is not credited. Public words: never rename or reuse one. Source: docs/deposits.md.
 *
 * - `nested_token_account`: the owner of the token account is a token account of the wallet, not the wallet itself.
 * - `owner_changed`: the token account had another owner before the transaction.
 * - `not_associated_account`: the token account is not the associated one of the wallet under the mint's own program.
 * - `asset_changed`: the mint has other decimals, or another program, than when it was listed: it was closed and made again.
 * - `unknown_mint`: the mint is not among the assets.
 * - `deposits_off`: the asset takes no deposits now.
 * - `below_minimum`: less than the least deposit of the asset.
 * - `internal`: we moved it ourselves: an attempt of ours, or a wallet of ours signed and lost that asset.
 * - `hot_wallet`: it came to a wallet that we pay from, not to a user's.
 */
export type NotCreditedReason = (typeof NOT_CREDITED_REASONS)[number];

/** A finalized block without its transactions. `time` is Unix seconds, null where the node does not know it. */
export interface BlockHeader {
  readonly slot: bigint;
  readonly blockhash: string;
  readonly parentSlot: bigint;
  readonly previousBlockhash: string;
  readonly height: bigint;
  readonly time: bigint | null;
}

/** One account of a transaction, with its lamports. */
export interface AccountChange {
  readonly address: string;
  readonly signer: boolean;
  readonly before: bigint;
  readonly after: bigint;
}

/**
 * What a token account held, in base units. `program` is null where an early ledger does not tell it, `owner` in a failed transaction
 * only.
 */
export interface TokenHolding {
  readonly owner: string | null;
  readonly program: string | null;
  /** Null where a node does not show it. */
  readonly decimals: number | null;
  readonly amount: bigint;
}

/** One token account of a transaction. Null: it was not there, or was one of another mint. */
export interface TokenChange {
  readonly account: string;
  readonly mint: string;
  readonly before: TokenHolding | null;
  readonly after: TokenHolding | null;
}

/** A transaction of a block as far as money goes: who signed it, and what every account held before and after it. */
export interface ScannedTransaction {
  readonly signature: string;
  readonly version: 'legacy' | number;
  /** The chain's word for what went wrong; null where it succeeded, and only there. */
  readonly error: string | null;
  readonly feeLamports: bigint;
  /** The fee payer first. */
  readonly accounts: readonly AccountChange[];
  readonly tokens: readonly TokenChange[];
}

export interface ScannedBlock {
  readonly header: BlockHeader;
  readonly transactions: readonly ScannedTransaction[];
}

/** What one transaction changed in one account of a wallet that we watch. */
export interface Movement {
  readonly signature: string;
  /** The wallet itself for SOL, else the token account. */
  readonly account: string;
  readonly wallet: string;
  /** `SOL` or the address of the mint. */
  readonly asset: string;
  /** Base units, positive. */
  readonly amount: bigint;
}

/** What arrived; `reason` is null where it is to be credited. Key: (signature, slot, account, asset), see `depositKey`. */
export interface Inflow extends Movement {
  readonly reason: NotCreditedReason | null;
}

/** A transaction that a wallet of kind `hot` signed; `error` is null where it succeeded. */
export interface Spend {
  readonly signature: string;
  readonly wallet: string;
  readonly error: string | null;
}

/** Everything in one block that is about wallets that we watch. */
export interface BlockFinding {
  readonly inflows: readonly Inflow[];
  /** What left: by a sweep of ours, by a permanent delegate's hand, or as the fee of a transaction, a failed one too. */
  readonly outflows: readonly Movement[];
  readonly spends: readonly Spend[];
}

export const NOTHING_FOUND: BlockFinding = { inflows: [], outflows: [], spends: [] };
