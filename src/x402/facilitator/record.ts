import { base64 } from '@scure/base';
import { paymentId } from '../../domain/payment.ts';
import type { NewPayment, PaymentRow } from '../../ledger/payments.ts';
import type { Refused } from '../terms.ts';
import type { FacilitatorDeps } from './deps.ts';
import type { Order } from './examiner.ts';

type Records = Pick<FacilitatorDeps, 'ledger'>;

const NO_CALLER = { identifier: null, authorization: null, cookie: null, address: null };

export function idOf({ terms, payment }: Order): string {
  return paymentId(terms.network.caip2, payment.messageHash);
}

/** What a seller's payments are counted by: the facilitator knows no other route of his. */
export function routeOf({ payTo }: Pick<Order['terms'], 'payTo'>): string {
  return `facilitator/${payTo}`;
}

/** The payment as it goes on record. Its request is its message: a payer may have any number of payments at once. */
export function rowOf(order: Order, acceptedSlot: bigint): Omit<NewPayment, 'request' | 'answer' | 'lease'> {
  const { payment, terms, dialect, wire } = order;
  const { network, amount, feePayer: _key, maxTimeoutSeconds: _seconds, ...rest } = terms;
  const { payer, feePayer, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports } = payment;
  return {
    id: idOf(order),
    seller: 'facilitator',
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
    route: routeOf(terms),
    requestHash: payment.messageHash,
    caller: NO_CALLER,
  };
}

/** base58; null until the fee payer has signed. */
export async function signatureOf({ ledger }: Records, id: string): Promise<string | null> {
  return (await ledger.attempts.of(id)).at(-1)?.signature ?? null;
}

/** Why a payment on record gets no success, now or later; null where it may. `key`: see the claim of a payment. */
export async function refusalOf(
  { ledger }: Records,
  known: PaymentRow,
  key: string | null,
): Promise<Refused | null> {
  const { payer, state } = known;
  if (known.seller !== 'facilitator') return duplicate(payer);
  switch (state) {
    case 'settling':
    case 'owed':
      return null;
    case 'served':
      return key !== null && known.claim === key ? null : duplicate(payer);
    case 'void': {
      const { status, reason } = await ledger.settlements.get(known.id);
      const code = status === 'dead' ? 'payment_expired' : 'invalid_exact_svm_transaction_failed';
      return { reason: code, message: reason?.message ?? `the payment is ${status}`, payer };
    }
    case 'unmatched':
    case 'refundable':
      return known.received === null
        ? duplicate(payer)
        : {
            reason: 'post_settlement_transfer_not_confirmed',
            message: known.reason ?? 'the amount did not arrive',
            payer,
          };
  }
}

function duplicate(payer: string): Refused {
  return { reason: 'duplicate_settlement', message: 'the transaction was settled before', payer };
}
