import type { StatusReason } from '../domain/settlement.ts';
import type { WithdrawalStatus, WithdrawalTerms } from '../domain/withdrawal.ts';
import type { AttemptEvidence } from './evidence.ts';

export type { StatusReason, WithdrawalStatus, WithdrawalTerms };

/** One signed transaction of a withdrawal. Heights, slots and lamports are decimal strings, times ISO-8601. */
export interface Attempt {
  /** Number of the attempt, from 1. The next attempt is made only after this one is proved dead or failed. */
  readonly n: number;
  readonly state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
  /** Transaction signature in base58; null until the attempt is signed. */
  readonly signature: string | null;
  /** Blockhash of the transaction, or the value of `nonceAccount`. */
  readonly blockhash: string;
  /** Last block height at which the transaction can land; null for a durable nonce, which has no such height. */
  readonly lastValidBlockHeight: string | null;
  /** The durable nonce account of the transaction's lifetime; null for a blockhash. */
  readonly nonceAccount: string | null;
  /** Maximum fee until the attempt has landed, then the fee that was charged. */
  readonly feeLamports: string;
  /** Rent for the receiver's token account, if the attempt creates it. */
  readonly rentLamports: string;
  /** Slot of the finalized block that contains it. */
  readonly slot: string | null;
  /** The decoded program error of a failed attempt. */
  readonly error: string | null;
  /** URL of the transaction in a block explorer; null until the attempt is signed. */
  readonly explorer: string | null;
  /** Evidence of its final verdict; null before it has landed, failed or is proved dead. */
  readonly proof: AttemptEvidence | null;
  /** For a dead attempt after a database restore: evidence that its message did not land with another signature. */
  readonly messageProof: AttemptEvidence | null;
  readonly createdAt: string;
}

/** A withdrawal in lists. Amounts are base units as decimal strings. */
export interface WithdrawalSummary {
  readonly id: string;
  readonly status: WithdrawalStatus;
  readonly reason: StatusReason | null;
  readonly asset: string;
  /** Amount that leaves the hot wallet. */
  readonly amount: string;
  /** Amount received, once finalized; less than `amount` for tokens with a transfer fee. */
  readonly amountReceived: string | null;
  readonly destination: string;
  readonly acceptEmptyWallet: boolean;
  readonly memo: string | null;
  readonly confirmedByCustomer: boolean;
  readonly workflowId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly links: { readonly self: string; readonly confirm: string; readonly cancel: string };
}

export interface Withdrawal extends WithdrawalSummary {
  readonly attempts: readonly Attempt[];
}

export interface WithdrawalPage {
  readonly withdrawals: readonly WithdrawalSummary[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** All conditions must match. */
export interface ListFilter {
  readonly status?: WithdrawalStatus;
  readonly asset?: string;
  readonly destination?: string;
}

/** RFC 9457 problem document, sent as `application/problem+json` with every status of 400 and above. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly [context: string]: unknown;
}
