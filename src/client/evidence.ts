import type { WithdrawalStatus } from '../domain/withdrawal.ts';

/** A finalized block, and the nodes that return it with this slot, hash and height. */
export interface ShownBlock {
  readonly slot: string;
  readonly blockhash: string;
  readonly height: string;
  readonly nodes: readonly string[];
}

/** Who answered, and in which order: what was asked later in one investigation has the greater number. */
export interface Answered {
  readonly node: string;
  readonly order: number;
}

/** What one node says of a signature. */
export interface StatusAnswer extends Answered {
  readonly seen: 'absent' | 'processed' | 'confirmed' | 'finalized' | 'unreadable';
  readonly slot: string | null;
  /** The error of the transaction, or why the answer cannot be read. */
  readonly error: string | null;
  /** The slot that the node had come to when it answered; null where it does not tell. */
  readonly atSlot: string | null;
  /** The first block of the history in which the transaction itself was looked for in vain, too; null where it was not. */
  readonly historyFrom: string | null;
}

/**
 * What a verdict on an attempt rests on, in the order in which a proof asks: heights (or nonces), blocks (or the use of the nonce),
 * statuses. Heights and slots are decimal strings, times ISO-8601.
 */
export interface AttemptEvidence {
  /** Time of the first question; null for evidence stored without times. */
  readonly askedAt: string | null;
  readonly judgedAt: string | null;
  /** Number of nodes that must agree. */
  readonly quorum: number;
  /** The last block height at which the attempt could land; null for a durable nonce. */
  readonly lastHeight: string | null;
  readonly finalizedHeights: readonly (Answered & { readonly height: string })[];
  /** Nodes whose finalized bank still takes the blockhash, whatever height they report: their heights do not count. */
  readonly stillTaking: readonly string[];
  /** The block of its blockhash, where a quorum shows it; for a message of a buyer, the first block that was searched. */
  readonly blockhashBlock: ShownBlock | null;
  /** What the finalized chain has, in place of that block, at `slot` or next after it; its parent lies before `slot`. */
  readonly displacedBy: {
    readonly slot: string;
    readonly parentSlot: string;
    readonly block: ShownBlock;
    readonly order: number;
  } | null;
  /** Finalized blocks from `first` to `last`, each linked to its parent by slot, hash and height. */
  readonly linkedBlocks: {
    readonly first: ShownBlock;
    readonly last: ShownBlock;
    readonly holdsSignature: boolean;
    /** So many nodes, or more, show each of these blocks with the same transactions. */
    readonly witnesses: number;
    readonly order: number;
  } | null;
  /** The value of its durable nonce account in each node's finalized bank. */
  readonly finalizedNonces: readonly (Answered & { readonly nonce: string })[];
  /** The finalized transaction that used up its nonce, or advanced the account past it: then linked blocks tell who used it up. */
  readonly nonceUsedBy: {
    readonly signature: string;
    readonly slot: string;
    /** True if the transaction used this nonce; false if it advanced the account past it. */
    readonly carriedNonce: boolean;
    readonly nodes: readonly string[];
    readonly order: number;
  } | null;
  readonly statuses: readonly StatusAnswer[];
  /** Nodes that confirm the outcome that another node reports as finalized. */
  readonly outcomeConfirmedBy: readonly string[];
  /** Those among them that show that it paid a fee: without one it was only included, and has not run. */
  readonly chargedBy: readonly string[];
}

/** What the nodes say now of the one attempt that may still land; of one that has ended, what they said then. */
export interface ExplainedAttempt {
  readonly n: number;
  readonly state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
  readonly signature: string | null;
  /** Or the value of its durable nonce. */
  readonly blockhash: string;
  /** Slot of the block with the transaction; null until a block is stored. */
  readonly slot: string | null;
  /** Current verdict. Only `dead` and some `failed` attempts are followed by another. */
  readonly verdict: 'landed' | 'failed' | 'alive' | 'dead' | 'unknown';
  /** Why the verdict is `unknown`, or the error of a `failed` transaction; else null. */
  readonly reason: string | null;
  /** What a verdict that ends it still lacks, and from which node; null where no single node can tell. */
  readonly missing: readonly { readonly node: string | null; readonly what: string }[];
  /** Null where no node could be asked, or where nothing readable is on record of one that has ended. */
  readonly evidence: AttemptEvidence | null;
}

/** What is known of a withdrawal at this moment, and what comes next. Asking changes nothing. */
export interface Explanation {
  readonly id: string;
  readonly status: WithdrawalStatus;
  readonly reason: { readonly code: string; readonly message: string } | null;
  readonly waitsFor: string;
  readonly nextStep: string;
  /** The one that may still land, else the last one that ended; null where none was made. */
  readonly attempt: ExplainedAttempt | null;
}
