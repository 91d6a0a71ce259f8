import type { ColumnType, Generated, Selectable } from 'kysely';
import type { PaymentState } from '../../domain/payment.ts';

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

interface PaymentTable {
  id: string;
  position: Generated<bigint>;
  state: PaymentState;
  /** Why it is refundable or unmatched, for display. */
  reason: string | null;
  seller: 'gateway' | 'facilitator';
  dialect: 'v2' | 'v1' | 'example' | 'submitted';
  /** The owner of the funds. */
  payer: string;
  feePayer: string;
  /** The maximum that the fee payer may lose by it. */
  feeLamports: bigint;
  computeUnitLimit: number;
  computeUnitPriceMicroLamports: bigint;
  terms: ColumnType<PaymentTerms, string, never>;
  /** base64 of the transaction as the buyer sent it. */
  wire: string;
  /** base58, if the buyer has made the transaction's first signature; else the attempt has it. */
  signature: string | null;
  /** The slot in which a node accepted its blockhash, or returned it in a block. */
  acceptedSlot: bigint;
  /** Base units that the landed transaction brought to the token account; null until that is read. */
  received: bigint | null;
  route: string;
  requestHash: string;
  request: string | null;
  answer: string | null;
  answerStatus: number | null;
  caller: ColumnType<Caller, string, never>;
  /** Hash of the Idempotency-Key to which the facilitator has bound its success. */
  claim: string | null;
  leaseHolder: string | null;
  leaseUntil: Date | null;
  /** When the upstream was first called. */
  askedAt: Date | null;
  paidAt: Date | null;
  servedAt: Date | null;
  createdAt: Generated<Date>;
}

interface OfferTable {
  route: string;
  /** Hash of the terms. */
  hash: string;
  terms: ColumnType<OfferedTerms, string, never>;
  lastOfferedAt: Generated<Date>;
}

export interface PaymentTables {
  payment: PaymentTable;
  offer: OfferTable;
}

/** A payment row with its sealed columns. */
export type StoredPayment = Selectable<PaymentTable>;

/** A payment without its sealed columns. */
export type PaymentRow = Omit<StoredPayment, 'request' | 'answer'> & {
  /** True if its answer is stored. */
  readonly isAnswered: boolean;
};

export function toPaymentRow({ request: _request, answer, ...row }: StoredPayment): PaymentRow {
  return { ...row, isAnswered: answer !== null };
}
