import type { NewPayment, PaymentRow } from '../../ledger/x402/payments.ts';
import { type CheckedPayment, ofTransaction, voidReason } from '../record.ts';
import type { Refused } from '../terms.ts';
import type { FacilitatorDeps } from './deps.ts';

type Records = Pick<FacilitatorDeps, 'ledger'>;

const NO_CALLER = { identifier: null, authorization: null, cookie: null, address: null };

/** Route id of a facilitator payment. The facilitator knows only the seller's `payTo`. */
export function routeOf({ payTo }: Pick<CheckedPayment['terms'], 'payTo'>): string {
  return `facilitator/${payTo}`;
}

/** The payment's row. Its request hash is its message hash: a payer may have any number of payments at once. */
export function rowOf(
  order: CheckedPayment,
  acceptedSlot: bigint,
): Omit<NewPayment, 'request' | 'answer' | 'lease'> {
  return {
    ...ofTransaction(order, acceptedSlot),
    seller: 'facilitator',
    route: routeOf(order.terms),
    requestHash: order.payment.messageHash,
    caller: NO_CALLER,
  };
}

/** Why a recorded payment never yields a success; null if it may. `key`: see the claim of a payment. */
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
    case 'void':
      return { ...(await voidReason(ledger, known.id)), payer };
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
