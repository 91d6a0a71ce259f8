import type { ColumnType, Generated } from 'kysely';
import type { PaymentState } from '../../domain/payment.ts';

/** What the buyer was asked for, as the row has it: base units as decimal text, addresses base58. */
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

/** What a buyer may be asked for; see {@link PaymentTerms}. */
export interface OfferedTerms extends PaymentTerms {
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
}

/** What a caller shows that the chain does not: hashes, and the client's address; null where he shows none. */
export interface Caller {
  /** Of the extension payment-identifier. */
  readonly identifier: string | null;
  readonly authorization: string | null;
  readonly cookie: string | null;
  readonly address: string | null;
}

interface PaymentTable {
  id: string;
  position: Generated<bigint>;
  state: PaymentState;
  /** Why it is refundable or unmatched, for people. */
  reason: string | null;
  seller: 'gateway' | 'facilitator';
  dialect: 'v2' | 'v1' | 'example' | 'submitted';
  /** The owner of the money. */
  payer: string;
  feePayer: string;
  /** The most that the fee payer may lose by it. */
  feeLamports: bigint;
  computeUnitLimit: number;
  computeUnitPriceMicroLamports: bigint;
  terms: ColumnType<PaymentTerms, string, never>;
  /** base64 of the transaction as the buyer gave it. */
  wire: string;
  /** base58, where the buyer has made the signature that names the transaction; else that of its attempt counts. */
  signature: string | null;
  /** The slot in which a node accepted its blockhash, or showed it in a block. */
  acceptedSlot: bigint;
  /** Base units that reached the token account, by the outcome of the landed transaction; null until that was read. */
  received: bigint | null;
  route: string;
  requestHash: string;
  request: string | null;
  answer: string | null;
  answerStatus: number | null;
  caller: ColumnType<Caller, string, never>;
  /** The Idempotency-Key to which the facilitator has bound its success. */
  claim: string | null;
  leaseHolder: string | null;
  leaseUntil: Date | null;
  /** When the upstream was first asked. */
  askedAt: Date | null;
  paidAt: Date | null;
  servedAt: Date | null;
  createdAt: Generated<Date>;
}

interface OfferTable {
  route: string;
  /** Of the terms. */
  hash: string;
  terms: ColumnType<OfferedTerms, string, never>;
  lastOfferedAt: Generated<Date>;
}

/** Payments of x402, what they have bought, and what buyers were asked for. */
export interface PaymentTables {
  payment: PaymentTable;
  offer: OfferTable;
}
