import type { StatusReason } from '../domain/settlement.ts';
import type { WithdrawalStatus, WithdrawalTerms } from '../domain/withdrawal.ts';
import type { AttemptEvidence } from './evidence.ts';

export type { StatusReason, WithdrawalStatus, WithdrawalTerms };

/** One signed transaction of a withdrawal. Heights, slots and lamports are decimal strings, times ISO-8601. */
export interface Attempt {
  /** 1 for the first; a second exists only after the first was proved dead. */
  readonly n: number;
  readonly state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
  /** base58; null until it is signed. */
  readonly signature: string | null;
  /** What the transaction carries: a blockhash, or the value of `nonceAccount`. */
  readonly blockhash: string;
  /** Null for a durable nonce, which does not expire by height. */
  readonly lastValidBlockHeight: string | null;
  /** The durable nonce account that gives the transaction its lifetime; null where a blockhash does. */
  readonly nonceAccount: string | null;
  /** The most it may cost until it has landed, then what it did cost. */
  readonly feeLamports: string;
  /** What it pays to create the receiver's token account. */
  readonly rentLamports: string;
  /** Slot of the finalized block that carries it. */
  readonly slot: string | null;
  /** The decoded program error of a failed one. */
  readonly error: string | null;
  /** Page of the transaction in a block explorer; null until it is signed. */
  readonly explorer: string | null;
  /** What its verdict rests on, once it has landed, failed or is proved dead; null before. */
  readonly proof: AttemptEvidence | null;
  /** Of a dead one, where the record was restored since: what proves that its message has not landed under any other signature either. */
  readonly messageProof: AttemptEvidence | null;
  readonly createdAt: string;
}

/** A withdrawal as lists show it. Amounts are base units as decimal strings. */
export interface WithdrawalSummary {
  readonly id: string;
  readonly status: WithdrawalStatus;
  readonly reason: StatusReason | null;
  readonly asset: string;
  /** What leaves the hot wallet. */
  readonly amount: string;
  /** What the receiver got, once finalized; less than `amount` for tokens with a transfer fee. */
  readonly amountReceived: string | null;
  readonly destination: string;
  readonly acceptEmptyWallet: boolean;
  readonly memo: string | null;
  readonly confirmedByCustomer: boolean;
  /** Id of the Temporal workflow that pays it. */
  readonly workflowId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Paths on this API. */
  readonly links: { readonly self: string; readonly confirm: string; readonly cancel: string };
}

/** A withdrawal with its attempts, oldest first. */
export interface Withdrawal extends WithdrawalSummary {
  readonly attempts: readonly Attempt[];
}

/** One page of a list, newest first. */
export interface WithdrawalPage {
  readonly withdrawals: readonly WithdrawalSummary[];
  /** Pass it as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null;
}

/** Which withdrawals a list shows; all conditions must hold. */
export interface ListFilter {
  readonly status?: WithdrawalStatus;
  readonly asset?: string;
  readonly destination?: string;
}

/** RFC 9457 problem document: every answer of 400 and above, as `application/problem+json`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly [context: string]: unknown;
}
