import type { StatusReason, WithdrawalStatus } from './withdrawal.ts';

/** The parts of a prepared attempt that the workflow carries from one step to the next. Bytes are base64. */
export interface PreparedAttempt {
  readonly n: number;
  /** The unsigned message. */
  readonly message: string;
  /** base58; null until the signature is stored. */
  readonly signature: string | null;
  /** The most that this attempt may cost in fees, decimal lamports. */
  readonly maxFeeLamports: string;
  /** The most that it may cost in rent of accounts that it makes, decimal lamports. */
  readonly maxRentLamports: string;
  /** The durable nonce account that gives it its lifetime; absent where a blockhash does. */
  readonly nonceAccount?: string;
}

/** Where a withdrawal stands in Postgres, and its newest attempt that is not dead. */
export interface Standing {
  readonly status: WithdrawalStatus;
  readonly reason: StatusReason | null;
  readonly attempt: PreparedAttempt | null;
}

/** What people see of a withdrawal: a wait that would look the same tells nothing. */
export interface Shown {
  readonly status: WithdrawalStatus;
  /** Of its reason. */
  readonly code: string | null;
}

/** What composing an attempt led to. */
export type Preparation =
  | { readonly kind: 'prepared'; readonly attempt: PreparedAttempt }
  | {
      readonly kind: 'waiting';
      readonly status: 'awaiting_confirmation' | 'awaiting_funds' | 'held';
      readonly reason: StatusReason;
    }
  | { readonly kind: 'ended'; readonly status: WithdrawalStatus; readonly reason: StatusReason | null };

/** How an attempt ended: `slot` is a decimal slot number. */
export type Landing =
  | { readonly kind: 'finalized'; readonly signature: string; readonly slot: string }
  | {
      readonly kind: 'failed';
      readonly signature: string;
      readonly slot: string;
      readonly reason: StatusReason;
    }
  | { readonly kind: 'dead'; readonly signature: string | null };

/** What the signer is asked for: exactly this transfer, in exactly this message. */
export interface SigningTask {
  readonly withdrawalId: string;
  readonly message: string;
  readonly asset: string;
  readonly amount: string;
  readonly destination: string;
  readonly memo: string | null;
  readonly maxFeeLamports: string;
  readonly maxRentLamports: string;
  readonly nonceAccount?: string;
}

/** What is to be done with a nonce account. `nonce`: only that value is used up, so that a late request harms no later attempt. */
export type NonceUpkeepRequest =
  | { readonly kind: 'create'; readonly address: string }
  | { readonly kind: 'advance'; readonly address: string; readonly nonce: string };

/** One transaction of it, on record, for the signer. */
export interface NonceUpkeepTask {
  readonly kind: 'create' | 'advance';
  readonly messageHash: string;
  readonly seed: string;
  /** The unsigned message, base64. */
  readonly message: string;
  readonly rentLamports: string;
  readonly maxFeeLamports: string;
}

/** How one transaction of it ended. */
export interface NonceUpkeepEnd {
  readonly state: 'landed' | 'failed' | 'dead';
  readonly signature: string;
}
