import type { RowOf } from '../database.ts';

/** Terms of a payment, as stored: base units as decimal strings, addresses base58. */
export interface PaymentTerms {
  /** CAIP-2. */
  readonly network: string;
  readonly asset: string;
  readonly tokenProgram: string;
  readonly decimals: number;
  readonly amount: string;
  readonly payTo: string;
  readonly tokenAccount: string;
  readonly memo: string | null;
}

/** Terms that a buyer may be offered: see {@link PaymentTerms}. */
export interface OfferedTerms extends PaymentTerms {
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
}

/** What a caller shows that the chain does not: hashes, and the client's address; null for what it does not send. */
export interface Caller {
  /** From the extension payment-identifier. */
  readonly identifier: string | null;
  readonly authorization: string | null;
  readonly cookie: string | null;
  readonly address: string | null;
}

/** A payment row with its sealed columns. */
export type StoredPayment = RowOf<'payment'>;

/** A payment without its sealed columns. */
export type PaymentRow = Omit<StoredPayment, 'request' | 'answer'> & {
  /** True if its answer is stored. */
  readonly isAnswered: boolean;
};

export function toPaymentRow({ request: _request, answer, ...row }: StoredPayment): PaymentRow {
  return { ...row, isAnswered: answer !== null };
}
