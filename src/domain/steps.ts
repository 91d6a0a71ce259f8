import type { SettlementStatus, StatusReason } from './settlement.ts';

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
  /** Whether it makes the receiver's token account; absent for other kinds, and for attempts that an older worker prepared. */
  readonly createsAccount?: boolean;
  /** The durable nonce account that gives it its lifetime; absent where a blockhash does. */
  readonly nonceAccount?: string;
  /** What keys of ours are still to sign of it, the fee payer's last; absent where the workflow knows by itself. */
  readonly tasks?: readonly SigningTask[];
  /** True where signers outside of Sluice are to sign it, too, such as an offline machine. */
  readonly isAwaited?: true;
}

/** Where a settlement stands in Postgres, and its attempt that has paid or may land. */
export interface Standing {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  readonly attempt: PreparedAttempt | null;
}

/** What people see of a settlement: a wait that would look the same tells nothing. */
export interface Shown {
  readonly status: SettlementStatus;
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
  | { readonly kind: 'ended'; readonly status: SettlementStatus; readonly reason: StatusReason | null };

/** The n-th attempt of a settlement, by the signature of its fee payer (base58). */
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
      /** Its cause can pass: the settlement has not ended with it. */
      readonly goesOn?: true;
    }
  /** `ends`: nobody can compose it anew, so the settlement has ended, too. */
  | { readonly kind: 'dead'; readonly signature: string | null; readonly ends?: true };

/** What a signer is asked for: its signature of exactly this message, which must be what the terms say by the rule of the kind. */
export interface SigningTask {
  readonly kind: string;
  /** The name of the key, as `hot`. */
  readonly key: string;
  /** base64. */
  readonly message: string;
  /** What the rule of the kind compares the message with. */
  readonly terms: Readonly<Record<string, string | boolean | null>>;
}

/** How a settlement ended. */
export interface SettlementEnd {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt. */
  readonly signature: string | null;
}
