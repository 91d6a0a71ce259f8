/**
 * What bounds the life of a transaction. `slot` is where it was read: no transaction that carries it lies in an earlier one.
 * A durable nonce lives until a transaction uses it up; Solana plans to retire it, so nothing needs it.
 */
export type Lifetime =
  | {
      readonly kind: 'blockhash';
      readonly blockhash: string;
      readonly slot: bigint;
      readonly height: bigint;
      readonly lastValidBlockHeight: bigint;
    }
  | { readonly kind: 'nonce'; readonly account: string; readonly nonce: string; readonly slot: bigint };

/**
 * The facts about one transaction with a blockhash that a verdict needs. Heights and slots are block heights and slots of the chain.
 * Of a message that we composed the first block is that of its blockhash. Nobody knows the height of an adopted message's blockhash:
 * its first block is a finalized one before which the message cannot have landed, its last height is L itself.
 */
export interface AttemptFacts {
  readonly signature: string | null;
  readonly blockhash: string;
  /** Slot of the first block. A quorum showed that block when the attempt was prepared. */
  readonly blockhashSlot: bigint;
  /** Height of the first block, as it was told when the attempt was prepared. */
  readonly blockhashHeight: bigint;
  /** As the node reported it with the blockhash; of an adopted message by {@link adoptedLastHeight}. */
  readonly lastValidBlockHeight: bigint;
  /** The hash of the first block where the message is adopted; null where the first block is that of `blockhash`. */
  readonly adoptedFrom: string | null;
}

/**
 * One node's answer to getSignatureStatuses, or to getTransaction where it shows more, or the reason why it cannot be used. `atSlot` is
 * the slot that the node had come to when it answered; null where it does not tell.
 */
export type Sighting =
  | {
      readonly kind: 'absent';
      readonly atSlot: bigint | null;
      /** The first block of a history in which the transaction itself was looked for in vain, too; null where none was. */
      readonly historyFrom: bigint | null;
    }
  | {
      readonly kind: 'seen';
      readonly commitment: 'processed' | 'confirmed' | 'finalized';
      readonly slot: bigint;
      readonly error: string | null;
      readonly atSlot: bigint | null;
    }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** What one node said, and in which order: `sequence` grows with every question of one investigation. */
export interface NodeTestimony<T> {
  readonly node: string;
  readonly sequence: number;
  readonly answer: T;
}

/** A finalized block by its slot, hash and height, and the nodes that show exactly these. */
export interface AgreedBlock {
  readonly slot: bigint;
  readonly blockhash: string;
  readonly height: bigint;
  readonly agreeingNodes: readonly string[];
}

/**
 * Finalized blocks from `first` to `last`, each linked to its parent by slot, hash and height. Null where the chain of links is not
 * complete.
 */
export interface Coverage {
  readonly first: AgreedBlock;
  readonly last: AgreedBlock;
  readonly containsSignature: boolean;
  /** So many nodes, or more, show each of these blocks with the same transactions. */
  readonly witnesses: number;
}

/**
 * Why the block of a blockhash is not on the finalized chain, although nodes had confirmed it: `by` is the first finalized block at
 * its `slot` or later, and the parent of `by` lies before it. `sequence` is that of the last question.
 */
export interface Displacement {
  readonly slot: bigint;
  readonly by: AgreedBlock;
  readonly parentSlot: bigint;
  readonly sequence: number;
}

/** A coverage with its place in the investigation: the sequence of the last question that built it. */
export type SequencedCoverage = Coverage & { readonly sequence: number };

/** What nodes say of an attempt of either lifetime. `quorum` = nodes that must agree (more than half, at least 2; 1 only on loopback). */
export interface OutcomeEvidence {
  readonly quorum: number;
  readonly statuses: readonly NodeTestimony<Sighting>[];
  /** Nodes other than the first witness whose getTransaction (finalized), or our own linked scan, shows the same outcome. */
  readonly outcomeConfirmedBy: readonly string[];
  /** Those among them that show that it paid a fee: it ran. What a block only includes pays nothing, and uses no nonce up (SIMD-0290). */
  readonly chargedBy: readonly string[];
}

/** When an investigation asked its first question, and when its answers were judged. For people: no verdict depends on them. */
export interface InvestigationTimes {
  readonly askedAt: Date;
  readonly judgedAt: Date;
}

/** Everything known at one moment about an attempt with a blockhash. */
export interface Evidence extends OutcomeEvidence {
  readonly finalizedHeights: readonly NodeTestimony<bigint>[];
  /** Nodes whose finalized bank still takes the blockhash, whatever height they report. */
  readonly stillTaking: readonly string[];
  /** The attempt's first block; null where too few nodes agree on it, or none was asked. */
  readonly origin: AgreedBlock | null;
  /** Where a fork took the block of its blockhash. */
  readonly displacement: Displacement | null;
  readonly coverage: SequencedCoverage | null;
}

/** The facts about one transaction with a durable nonce that a verdict needs. */
export interface NonceAttemptFacts {
  readonly signature: string | null;
  readonly nonceAccount: string;
  /** The value that the transaction carries in place of a blockhash. */
  readonly nonce: string;
  /** A quorum's finalized banks held that value at this slot or later: no transaction that carries it has run here or before. */
  readonly nonceSlot: bigint;
}

/** A finalized transaction that ran with a nonce as its lifetime, and so used it up, whether it succeeded or not. */
export interface NonceUse {
  readonly signature: string;
  readonly nonceAccount: string;
  readonly nonce: string;
  readonly slot: bigint;
  /** Nodes that show exactly this at finalized. */
  readonly shownBy: readonly string[];
  /** The sequence of the last question that found it. */
  readonly sequence: number;
}

/**
 * A finalized transaction that advanced a nonce account without carrying its nonce. It does not say which nonce it found: the attempt
 * may have run before it, and cannot after it.
 */
export interface NonceBypass {
  readonly signature: string;
  readonly nonceAccount: string;
  readonly slot: bigint;
  /** Nodes that show exactly this at finalized. */
  readonly shownBy: readonly string[];
  /** The sequence of the last question that found it. */
  readonly sequence: number;
}

/** Everything known at one moment about an attempt with a durable nonce. */
export interface NonceEvidence extends OutcomeEvidence {
  /** The value of its nonce account in each node's finalized bank. */
  readonly finalizedNonces: readonly NodeTestimony<string>[];
  readonly use: NonceUse | null;
  /** What advanced the account past the nonce; null where nothing is found, or `use` is. */
  readonly bypass: NonceBypass | null;
  /** The linked blocks in which the attempt may have run: from its nonce's slot to that of the bypass. */
  readonly coverage: SequencedCoverage | null;
}

export type Verdict =
  | { readonly kind: 'landed'; readonly slot: bigint }
  | { readonly kind: 'failed'; readonly slot: bigint; readonly error: string }
  | { readonly kind: 'alive'; readonly seen: 'processed' | 'confirmed' | null }
  | { readonly kind: 'dead' }
  | { readonly kind: 'unknown'; readonly reason: string };
