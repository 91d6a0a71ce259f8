import type { SettlementStatus, StatusReason } from './settlement.ts';

/** A prepared attempt, as the workflow passes it between steps. Bytes are base64. */
export interface PreparedAttempt {
  readonly n: number;
  readonly message: string;
  /** base58; null until the signature is stored. */
  readonly signature: string | null;
  /** Upper bound of its fees, decimal lamports. */
  readonly maxFeeLamports: string;
  /** Upper bound of the rent for accounts that it creates, decimal lamports. */
  readonly maxRentLamports: string;
  /** Whether it creates the receiver's token account. */
  readonly createsAccount: boolean;
  /** The durable nonce account of its lifetime; absent for a blockhash. */
  readonly nonceAccount?: string;
  /** Signatures still needed from our keys, the fee payer's last; absent if the workflow derives them itself. */
  readonly tasks?: readonly SigningTask[];
  /** True if external signers, such as an offline machine, must sign too. */
  readonly isAwaited?: true;
}

/** State of a settlement in PostgreSQL, and its attempt that has paid or may land. */
export interface SettlementState {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  readonly attempt: PreparedAttempt | null;
}

/** The displayed state of a settlement. A wait with an equal value is not reported again. */
export interface DisplayedStatus {
  readonly status: SettlementStatus;
  readonly code: string | null;
}

export type Preparation =
  | { readonly kind: 'prepared'; readonly attempt: PreparedAttempt }
  | {
      readonly kind: 'waiting';
      readonly status: 'awaiting_confirmation' | 'awaiting_funds' | 'held';
      readonly reason: StatusReason;
    }
  | { readonly kind: 'ended'; readonly status: SettlementStatus; readonly reason: StatusReason | null };

/** The n-th attempt of a settlement, by its fee payer's signature (base58). */
export interface SignedStep {
  readonly id: string;
  readonly n: number;
  readonly signature: string;
}

/** How an attempt ended: `slot` is a decimal slot number. */
export type Landing =
  | { readonly kind: 'finalized'; readonly signature: string; readonly slot: string }
  | {
      readonly kind: 'failed';
      readonly signature: string;
      readonly slot: string;
      readonly reason: StatusReason;
      /** The cause is temporary: the settlement continues. */
      readonly goesOn?: true;
    }
  /** `ends`: the message cannot be composed anew, so the settlement has ended too. */
  | { readonly kind: 'dead'; readonly signature: string | null; readonly ends?: true };

/** A request to sign exactly this message, which must match the terms by the rule of the kind. */
export interface SigningTask {
  readonly kind: string;
  /** Name of the key, such as `hot`. */
  readonly key: string;
  /** base64. */
  readonly message: string;
  /** The terms that the rule of the kind compares with the message. */
  readonly terms: Readonly<Record<string, string | boolean | null>>;
}

export interface SettlementEnd {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt. */
  readonly signature: string | null;
}

/** Name of the signal with a {@link LandingReport}, sent by the waiting activity to its own workflow. */
export const LANDING_REPORT = 'landingReport';

/** Progress of a landing wait. For display only: a lost, late or repeated report changes no decision. */
export interface LandingReport {
  readonly n: number;
  readonly status: 'sending' | 'confirmed' | 'held';
  readonly reason: StatusReason | null;
}
