/** The facts about one signed transaction that a verdict needs. Heights and slots are block heights and slots of the chain. */
export interface AttemptFacts {
  readonly signature: string | null;
  readonly blockhash: string;
  /** Height of the block that carries `blockhash`. */
  readonly blockhashHeight: bigint;
  /** As the node reported it with the blockhash. */
  readonly lastValidBlockHeight: bigint;
}

/** One node's answer to getSignatureStatuses, or the reason why it cannot be used. */
export type Sighting =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'seen';
      readonly commitment: 'processed' | 'confirmed' | 'finalized';
      readonly slot: bigint;
      readonly error: string | null;
    }
  | { readonly kind: 'unreadable'; readonly why: string };

/** What one node said, and in which order: `sequence` grows with every question of one investigation. */
export interface NodeTestimony<T> {
  readonly node: string;
  readonly sequence: number;
  readonly answer: T;
}

/** The linked finalized blocks from the attempt's blockhash up, checked by slot and hash. Null where the chain of links is not complete. */
export interface Coverage {
  readonly firstBlockhash: string;
  readonly fromHeight: bigint;
  readonly toHeight: bigint;
  readonly lastSlot: bigint;
  readonly lastBlockhash: string;
  /** Nodes that agree that `lastBlockhash` is the finalized block of `lastSlot`. */
  readonly agreeingNodes: readonly string[];
  readonly containsSignature: boolean;
}

/** A coverage with its place in the investigation: the sequence of the last question that built it. */
export type SequencedCoverage = Coverage & { readonly sequence: number };

/** Everything known about an attempt at one moment. `quorum` = nodes that must agree (more than half, at least 2; 1 only on loopback). */
export interface Evidence {
  readonly quorum: number;
  readonly finalizedHeights: readonly NodeTestimony<bigint>[];
  readonly statuses: readonly NodeTestimony<Sighting>[];
  /** Nodes other than the first witness whose getTransaction (finalized), or our own linked scan, shows the same outcome. */
  readonly outcomeConfirmedBy: readonly string[];
  readonly coverage: SequencedCoverage | null;
}

export type Verdict =
  | { readonly kind: 'landed'; readonly slot: bigint }
  | { readonly kind: 'failed'; readonly slot: bigint; readonly error: string }
  | { readonly kind: 'alive'; readonly seen: 'processed' | 'confirmed' | null }
  | { readonly kind: 'dead' }
  | { readonly kind: 'unknown'; readonly why: string };
