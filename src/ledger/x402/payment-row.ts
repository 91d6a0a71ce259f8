import type { RowOf } from '../database.ts';

/** Stored terms of a payment. Amounts are base units as decimal strings; addresses are base58. */
export interface PaymentTerms {
  /** CAIP-2 id of the network. */
  readonly network: string;
  readonly asset: string;
  readonly tokenProgram: string;
  readonly decimals: number;
  readonly amount: string;
  readonly payTo: string;
  readonly tokenAccount: string;
  readonly memo: string | null;
}

/** Terms that are offered to buyers. */
export interface OfferedTerms extends PaymentTerms {
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
  /** True if `amount` is the highest price that the upstream may set. Absent: it is the price. */
  readonly isMax?: true;
}

/** Identifies the sender of a request beyond its transaction. All but `address` are hashes; null if not sent. */
export interface Caller {
  /** Id of the x402 extension payment-identifier. */
  readonly identifier: string | null;
  readonly authorization: string | null;
  readonly cookie: string | null;
  readonly address: string | null;
}

/** A payment row with its encrypted columns `request` and `answer`. */
export type StoredPayment = RowOf<'payment'>;

/** A payment row without its encrypted columns. */
export type PaymentRow = Omit<StoredPayment, 'request' | 'answer'> & {
  /** True if an answer of the upstream is stored. */
  readonly isAnswered: boolean;
};

export function toPaymentRow({ request: _request, answer, ...row }: StoredPayment): PaymentRow {
  return { ...row, isAnswered: answer !== null };
}
