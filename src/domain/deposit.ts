import type { BlockHeight, Blockhash, Slot } from './units.ts';

/** Why a wallet is watched: users pay to it, or we pay from it (hot wallets, fee payers and nonce authorities). */
export type WatchKind = 'deposit' | 'hot';

export const DEPOSIT_STATES = ['pending', 'final', 'dropped', 'not_credited'] as const;

/**
 * State of a deposit, with every transition.
 *
 * - `pending`: the first state. A confirmed block announces the deposit, or a finalized block, a rescan or an audit
 *   adds it. It can have a {@link NotCreditedReason} from one node, which a quorum must confirm.
 *   - to `final` or `not_credited`: a quorum returns the finalized transaction, without or with such a reason.
 *   - to `dropped`: the cursor passes the slot of an announced deposit, and the finalized block does not contain it. Or
 *     an operator rejects the deposit, and a quorum denies it.
 * - `dropped`: to `pending`: a finalized block of the slot contains the deposit, also when the block is read again.
 * - `final`: irreversible, no transition. Credit it if it has a user. It has none if the address was unassigned when it
 *   arrived, or if a restored database lost the assignment.
 * - `not_credited`: received, but not credited, for a {@link NotCreditedReason}. No transition.
 */
export type DepositState = (typeof DEPOSIT_STATES)[number];

export const DEPOSIT_ADDRESS_STATES = ['auditing', 'free', 'assigned', 'used', 'withheld'] as const;

/**
 * State of a deposit address, with every transition. It is watched in all of them.
 *
 * - `auditing`: imported with earlier transactions, which are audited for deposits. To `free` after a complete audit;
 *   to `used` by an earlier deposit.
 * - `free`: may be assigned. To `assigned` for a user; to `auditing` if it is imported again with earlier transactions;
 *   to `used` by a deposit that a quorum confirms, unless the deposit is our own transfer.
 * - `assigned`: belongs to one user. No transition.
 * - `used`: received a deposit before it was assigned, so it is never assigned. No transition.
 * - `withheld`: unassigned in a restored database, so a user may have it: watched, and never assigned. No transition.
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
 * Why an arrival is not credited. Reasons are public: never rename or reuse one. Source: docs/deposits.md.
 *
 * - `nested_token_account`: the owner of the token account is a token account of the wallet, not the wallet itself.
 * - `owner_changed`: the token account had another owner before the transaction.
 * - `not_associated_account`: the token account is not the associated one of the wallet under the mint's own program.
 * - `asset_changed`: the mint's decimals or program differ from its listing: it was closed and recreated.
 * - `unknown_mint`: the mint is not listed.
 * - `deposits_off`: deposits of the asset are off.
 * - `below_minimum`: less than the minimum deposit of the asset.
 * - `internal`: our own transfer: an attempt of ours, or a wallet of ours signed and lost that asset.
 * - `hot_wallet`: it reached a wallet that we pay from, not a user's.
 */
export type NotCreditedReason = (typeof NOT_CREDITED_REASONS)[number];

/** A finalized block without its transactions. `time` is Unix seconds; null if the node does not know it. */
export interface BlockHeader {
  readonly slot: Slot;
  readonly blockhash: Blockhash;
  readonly parentSlot: Slot;
  readonly previousBlockhash: Blockhash;
  readonly height: BlockHeight;
  readonly time: bigint | null;
}

export interface AccountChange {
  readonly address: string;
  readonly signer: boolean;
  readonly before: bigint;
  readonly after: bigint;
}

/**
 * Token balance in base units. `program` is null in old blocks, from before nodes recorded it. `owner` is null only in
 * failed transactions.
 */
export interface TokenHolding {
  readonly owner: string | null;
  readonly program: string | null;
  /** Null if the node does not return it. */
  readonly decimals: number | null;
  readonly amount: bigint;
}

/** One token account before and after a transaction. Null: the account did not exist, or had a different mint. */
export interface TokenChange {
  readonly account: string;
  readonly mint: string;
  readonly before: TokenHolding | null;
  readonly after: TokenHolding | null;
}

/** The signers of a transaction, and the balances of all its accounts before and after it. */
export interface ScannedTransaction {
  readonly signature: string;
  readonly version: 'legacy' | number;
  /** The error as the chain has it; null exactly if the transaction succeeded. */
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

/** A change of one account's balance in one transaction. */
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

/** An incoming transfer. `reason` is null if it is credited. Its key is {@link depositKey}. */
export interface Inflow extends Movement {
  readonly reason: NotCreditedReason | null;
}

/** A balance decrease. `ownerSigned` is false if a delegate moved the tokens. */
export interface Outflow extends Movement {
  readonly ownerSigned: boolean;
}

/** A transaction that a wallet of kind `hot` signed; `error` is null if it succeeded. */
export interface Spend {
  readonly signature: string;
  readonly wallet: string;
  readonly error: string | null;
}

export interface BlockFinding {
  readonly inflows: readonly Inflow[];
  /** Decreases by a sweep, by a permanent delegate, or by a transaction fee, also of a failed transaction. */
  readonly outflows: readonly Outflow[];
  readonly spends: readonly Spend[];
}

export const NOTHING_FOUND: BlockFinding = { inflows: [], outflows: [], spends: [] };

/** End of the year 9999 in Unix seconds. ISO-8601 parsers disagree about later dates. */
const MAX_BLOCK_TIME = 253_402_300_800n;

export function isBlockTime(seconds: bigint): boolean {
  return seconds >= 0n && seconds < MAX_BLOCK_TIME;
}

/** Formats a block time (Unix seconds) as ISO-8601. Null if the time is unknown or invalid. */
export function presentBlockTime(seconds: bigint | null): string | null {
  return seconds === null || !isBlockTime(seconds) ? null : new Date(Number(seconds) * 1_000).toISOString();
}

/**
 * The permanent key of a deposit, which results in the same row and public id in every copy of the database. It has the
 * slot instead of the block's hash: a slot has one finalized block, whichever block first announced the deposit.
 */
export function depositKey({
  signature,
  slot,
  account,
  asset,
}: Pick<Movement, 'signature' | 'account' | 'asset'> & Pick<BlockHeader, 'slot'>): string {
  return `${signature}/${slot}/${account}/${asset}`;
}
