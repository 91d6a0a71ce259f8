import type { Address, BlockHeight, Blockhash, Signature, Slot } from './units.ts';

/**
 * States of an attempt, which is one transaction of a settlement. At most one attempt of a settlement is unfinished.
 *
 * | state | meaning | next states |
 * |---|---|---|
 * | prepared | stored; a signature can exist, because the signer may have signed without an answer | signed, dead |
 * | signed | all signatures are stored; the bytes may be sent | landed, failed, dead |
 * | landed | end: finalized without an error, by two nodes | |
 * | failed | end: finalized with an error, by two nodes; these bytes never land again | |
 * | dead | end: proved that the message can never land, under any signature | |
 *
 * The attempt of an adopted message with all signatures begins as signed. A prepared attempt that is found on chain
 * becomes signed before it ends. Another attempt can follow only after `failed` or `dead`.
 */
export type AttemptState = 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';

/**
 * The lifetime constraint of a transaction. `slot` is the slot at which it was read: no earlier block contains a
 * transaction with it. A nonce is valid until a transaction consumes it; Solana plans to retire nonces, so no feature
 * depends on them.
 */
export type Lifetime =
  | {
      readonly kind: 'blockhash';
      readonly blockhash: Blockhash;
      readonly slot: Slot;
      readonly height: BlockHeight;
      readonly lastValidBlockHeight: BlockHeight;
    }
  | { readonly kind: 'nonce'; readonly account: Address; readonly nonce: string; readonly slot: Slot };

/**
 * The facts about a transaction with a blockhash that a verdict needs. The first block of a message that we composed is
 * the block of its blockhash. For an adopted message, that block is unknown: its first block is a finalized block
 * before which the message cannot have landed.
 */
export interface AttemptFacts {
  readonly signature: Signature | null;
  readonly blockhash: Blockhash;
  /** Slot of the first block. A quorum returned that block when the attempt was prepared. */
  readonly blockhashSlot: Slot;
  /** Height of the first block, as returned when the attempt was prepared. */
  readonly blockhashHeight: BlockHeight;
  /** Returned by the node with the blockhash. For an adopted message: {@link adoptedLastHeight}. */
  readonly lastValidBlockHeight: BlockHeight;
  /** Hash of the first block of an adopted message. Null if the first block is the block of `blockhash`. */
  readonly adoptedFrom: Blockhash | null;
}

/**
 * One node's status of a transaction, from getSignatureStatuses or getTransaction, or the reason why it is unusable.
 * `atSlot` is the node's context slot; null if the node did not return one.
 */
export type StatusObservation =
  | {
      readonly kind: 'absent';
      readonly atSlot: Slot | null;
      /**
       * First block of the node's history, if getTransaction found no transaction in it; null if it was not searched.
       */
      readonly historyFrom: Slot | null;
    }
  | {
      readonly kind: 'seen';
      readonly commitment: 'processed' | 'confirmed' | 'finalized';
      readonly slot: Slot;
      readonly error: string | null;
      readonly atSlot: Slot | null;
    }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** One node's answer. `sequence` orders the requests of one investigation. */
export interface NodeAnswer<T> {
  readonly node: string;
  readonly sequence: number;
  readonly answer: T;
}

/** A finalized block, and the nodes that return exactly this slot, hash and height. */
export interface AgreedBlock {
  readonly slot: Slot;
  readonly blockhash: Blockhash;
  readonly height: BlockHeight;
  readonly agreeingNodes: readonly string[];
}

/** Finalized blocks from `first` to `last`, each linked to its parent by slot, hash and height, without a gap. */
export interface Coverage {
  readonly first: AgreedBlock;
  readonly last: AgreedBlock;
  readonly containsSignature: boolean;
  /** At least this many nodes return each of these blocks with the same transactions. */
  readonly minAgreeingNodes: number;
}

/**
 * Proof that the block of a blockhash, at `slot`, is not on the finalized chain, although nodes confirmed it. `by` is
 * the first finalized block at `slot` or later; its parent is before `slot`. `sequence` is that of the last request.
 */
export interface Displacement {
  readonly slot: Slot;
  readonly by: AgreedBlock;
  readonly parentSlot: Slot;
  readonly sequence: number;
}

export type SequencedCoverage = Coverage & { readonly sequence: number };

/**
 * Node answers about an attempt. `quorum`: number of nodes that must agree (more than half, at least 2; 1 only on
 * loopback).
 */
export interface OutcomeEvidence {
  readonly quorum: number;
  readonly statuses: readonly NodeAnswer<StatusObservation>[];
  /** Confirmations of the finalized outcome besides its first source: other nodes, or Sluice's own linked scan. */
  readonly outcomeConfirmedBy: readonly string[];
  /**
   * Nodes that report a fee, so the transaction ran. An included transaction without a fee uses no nonce (SIMD-0290).
   */
  readonly chargedBy: readonly string[];
}

/** Times of the first request and of the verdict. For display only: no verdict depends on them. */
export interface InvestigationTimes {
  readonly askedAt: Date;
  readonly judgedAt: Date;
}

export interface Evidence extends OutcomeEvidence {
  readonly finalizedHeights: readonly NodeAnswer<BlockHeight>[];
  /** Nodes whose finalized bank still accepts the blockhash, regardless of the heights that they report. */
  readonly stillTaking: readonly string[];
  /** The attempt's first block. Null if too few nodes agree on it, or if no node was asked. */
  readonly origin: AgreedBlock | null;
  /** Proof that a fork removed the block of the blockhash; null if there is none. */
  readonly displacement: Displacement | null;
  readonly coverage: SequencedCoverage | null;
}

export interface NonceAttemptFacts {
  readonly signature: Signature | null;
  readonly nonceAccount: Address;
  readonly nonce: string;
  /** A quorum's finalized banks had the nonce at this slot or later, so no transaction had used it up to this slot. */
  readonly nonceSlot: Slot;
}

/** A finalized transaction, successful or not, that used a nonce as its lifetime and so consumed the nonce. */
export interface NonceUse {
  readonly signature: Signature;
  readonly nonceAccount: Address;
  readonly nonce: string;
  readonly slot: Slot;
  /** Nodes that return this transaction as finalized, with the same slot. */
  readonly shownBy: readonly string[];
  /** Sequence of the last request that returned the transaction. */
  readonly sequence: number;
}

/**
 * A finalized transaction that advanced the nonce account but did not use its nonce as a blockhash. It does not reveal
 * which nonce it replaced, so the attempt may have run before this transaction, but not after.
 */
export interface NonceBypass {
  readonly signature: Signature;
  readonly nonceAccount: Address;
  readonly slot: Slot;
  /** Nodes that return this transaction as finalized, with the same slot. */
  readonly shownBy: readonly string[];
  /** Sequence of the last request that returned the transaction. */
  readonly sequence: number;
}

export interface NonceEvidence extends OutcomeEvidence {
  /** The value of the nonce account in each node's finalized bank. */
  readonly finalizedNonces: readonly NodeAnswer<string>[];
  readonly use: NonceUse | null;
  /** The transaction that advanced the account past the nonce. Null if none was found, or if `use` is set. */
  readonly bypass: NonceBypass | null;
  /** Linked blocks in which the attempt may have run: from `nonceSlot` to the slot of the bypass. */
  readonly coverage: SequencedCoverage | null;
}

export type AttemptVerdict =
  | { readonly kind: 'landed'; readonly slot: Slot }
  | { readonly kind: 'failed'; readonly slot: Slot; readonly error: string }
  | { readonly kind: 'alive'; readonly seen: 'processed' | 'confirmed' | null }
  | { readonly kind: 'dead' }
  | { readonly kind: 'unknown'; readonly reason: string };
