import type { WithdrawalStatus } from '../domain/withdrawal.ts';

/** A finalized block, and the nodes that return it with this slot, hash and height. */
export interface ShownBlock {
  readonly slot: string;
  readonly blockhash: string;
  readonly height: string;
  readonly nodes: readonly string[];
}

/** The node and order of an answer: later requests of one investigation have greater numbers. */
export interface Answered {
  readonly node: string;
  readonly order: number;
}

export interface StatusAnswer extends Answered {
  readonly seen: 'absent' | 'processed' | 'confirmed' | 'finalized' | 'unreadable';
  readonly slot: string | null;
  /** The error of the transaction, or why the answer is unreadable. */
  readonly error: string | null;
  /** The node's context slot; null if the node did not return one. */
  readonly atSlot: string | null;
  /** First block of the history in which the node did not find the transaction either; null if it was not searched. */
  readonly historyFrom: string | null;
}

/**
 * The evidence of a verdict on an attempt, in the order of the proof: heights (or nonces), blocks (or the use of
 * the nonce), statuses. Heights and slots are decimal strings, times ISO-8601.
 */
export interface AttemptEvidence {
  /** Time of the first request; null for evidence stored without times. */
  readonly askedAt: string | null;
  readonly judgedAt: string | null;
  readonly quorum: number;
  /** The last block height at which the attempt could land; null for a durable nonce. */
  readonly lastHeight: string | null;
  readonly finalizedHeights: readonly (Answered & { readonly height: string })[];
  /** Nodes whose finalized bank still accepts the blockhash: the heights that they report do not count. */
  readonly stillTaking: readonly string[];
  /** The block of its blockhash, if a quorum returns it. For a buyer's message, the first block that was searched. */
  readonly blockhashBlock: ShownBlock | null;
  /** The finalized block at `slot`, or the next one after it, that replaced that block. Its parent is before `slot`. */
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
    /** At least this many nodes return each of these blocks with the same transactions. */
    readonly witnesses: number;
    readonly order: number;
  } | null;
  /** The value of its durable nonce account in each node's finalized bank. */
  readonly finalizedNonces: readonly (Answered & { readonly nonce: string })[];
  /** The finalized transaction that consumed its nonce, or that advanced the account past it. */
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
  /** Those of them that show a fee: without a fee it was only included, and did not run. */
  readonly chargedBy: readonly string[];
}

/** Current evidence about the attempt that may still land, or stored evidence about one that has ended. */
export interface ExplainedAttempt {
  readonly n: number;
  readonly state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
  readonly signature: string | null;
  /** Or its durable nonce. */
  readonly blockhash: string;
  /** Slot of the block with the transaction; null until a block is stored. */
  readonly slot: string | null;
  /** Current verdict. Only `dead` and some `failed` attempts are followed by another. */
  readonly verdict: 'landed' | 'failed' | 'alive' | 'dead' | 'unknown';
  /** Why the verdict is `unknown`, or the error of a `failed` transaction; otherwise null. */
  readonly reason: string | null;
  /** Evidence still missing for a final verdict, and the node to provide it; null if no single node can. */
  readonly missing: readonly { readonly node: string | null; readonly what: string }[];
  /** Null if no node could be asked, or if an ended attempt has no readable stored evidence. */
  readonly evidence: AttemptEvidence | null;
}

/** Current state of a withdrawal and its next step. Read-only. */
export interface Explanation {
  readonly id: string;
  readonly status: WithdrawalStatus;
  readonly reason: { readonly code: string; readonly message: string } | null;
  readonly waitsFor: string;
  readonly nextStep: string;
  /** The attempt that may still land, otherwise the last one that ended; null if there is none. */
  readonly attempt: ExplainedAttempt | null;
}
