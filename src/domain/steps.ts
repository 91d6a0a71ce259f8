import type { SettlementStatus, StatusReason } from './settlement.ts';

/** A prepared attempt, as the workflow passes it between steps. Bytes are base64. */
export interface PreparedAttempt {
  readonly n: number;
  readonly message: string;
  /** base58; null until the signature is stored. */
  readonly signature: string | null;
  /** Upper bound of the fees, in lamports as a decimal string. */
  readonly maxFeeLamports: string;
  /** Upper bound of the rent for created accounts, in lamports as a decimal string. */
  readonly maxRentLamports: string;
  /** Whether the attempt creates the receiver's token account. */
  readonly createsAccount: boolean;
  /** Address of the durable nonce account; absent for an attempt with a blockhash. */
  readonly nonceAccount?: string;
  /**
   * Signatures that our keys must still make, the fee payer's last; absent if the workflow derives the tasks itself.
   */
  readonly tasks?: readonly SigningTask[];
  /** True if external signers, such as an offline machine, must sign too. */
  readonly isAwaited?: true;
}

/** State of a settlement in PostgreSQL, and its attempt that has landed or can still land; null if there is none. */
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

/** A signed attempt: settlement id, attempt number, and the fee payer's signature (base58). */
export interface SignedStep {
  readonly id: string;
  readonly n: number;
  readonly signature: string;
}

/** How an attempt ended. `slot` is a decimal string. */
export type Landing =
  | { readonly kind: 'finalized'; readonly signature: string; readonly slot: string }
  | {
      readonly kind: 'failed';
      readonly signature: string;
      readonly slot: string;
      readonly reason: StatusReason;
      /** True if the cause is temporary, so that the settlement continues with another attempt. */
      readonly goesOn?: true;
    }
  /** `ends`: the message cannot be composed again, so the settlement has ended too. */
  | { readonly kind: 'dead'; readonly signature: string | null; readonly ends?: true };

/** A request to sign `message`. The signer first checks it against `terms`, with the signing rule of `kind`. */
export interface SigningTask {
  readonly kind: string;
  /** Name of the key, such as `hot`. */
  readonly key: string;
  /** base64. */
  readonly message: string;
  /** The terms that the signing rule compares with the message. */
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
