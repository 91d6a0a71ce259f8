import { base64 } from '@scure/base';
import { paymentId } from '../domain/payment.ts';
import type { AwaitedCommitment, SettlementStatus } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewPayment, PaymentRow } from '../ledger/x402/payments.ts';
import type { ExactPayment, Proof, Terms } from './terms.ts';

/** A payment that passed every check except the simulation. */
export interface CheckedPayment {
  readonly dialect: Proof['dialect'];
  readonly wire: Uint8Array;
  readonly terms: Terms;
  readonly payment: ExactPayment;
}

export interface Reached {
  readonly status: SettlementStatus;
  readonly signature: string | null;
}

/** Workflows of payments; `withinMs` is the timeout of each call. See `PaymentRuns`. */
export interface SettlementRuns {
  reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<Reached>;
}

/** The columns that depend on the transaction, equal for gateway and facilitator. */
type OfTransaction = Omit<
  NewPayment,
  'seller' | 'route' | 'requestHash' | 'caller' | 'request' | 'answer' | 'lease'
>;

export function idOf({ terms, payment }: Pick<CheckedPayment, 'terms' | 'payment'>): string {
  return paymentId(terms.network.caip2, payment.messageHash);
}

/** `acceptedSlot`: slot in which a node accepted the simulation or returned the transaction. */
export function ofTransaction(checked: CheckedPayment, acceptedSlot: bigint): OfTransaction {
  const { payment, terms, dialect, wire } = checked;
  const { network, amount, feePayer: _key, maxTimeoutSeconds: _seconds, ...rest } = terms;
  const { payer, feePayer, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports } = payment;
  return {
    id: idOf(checked),
    dialect,
    payer,
    feePayer,
    feeLamports,
    computeUnitLimit,
    computeUnitPriceMicroLamports,
    terms: { ...rest, network: network.caip2, amount: amount.toString() },
    wire: base64.encode(wire),
    signature: payment.signature,
    acceptedSlot,
  };
}

/** Transaction signature (base58); null until the fee payer has signed. */
export async function signatureOf(
  { attempts }: Pick<Ledger, 'attempts'>,
  { id, signature }: PaymentRow,
): Promise<string | null> {
  return signature ?? (await attempts.of(id)).at(-1)?.signature ?? null;
}

/** Why a payment moved no money: a reason code of version 2, and a sentence. */
export async function voidReason(
  { settlements }: Pick<Ledger, 'settlements'>,
  id: string,
): Promise<{ readonly reason: string; readonly message: string }> {
  const { status, reason } = await settlements.get(id);
  const code = status === 'dead' ? 'payment_expired' : 'invalid_exact_svm_transaction_failed';
  return { reason: code, message: reason?.message ?? `the payment is ${status}` };
}
