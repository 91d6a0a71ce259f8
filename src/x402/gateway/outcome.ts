import type { PaymentRow, StoredAnswer } from '../../ledger/x402/payments.ts';
import type { UpstreamAnswer } from '../upstream.ts';

/** An answer of the upstream: whole, or with a body that is still to come. */
export type Delivered = Exclude<UpstreamAnswer, { kind: 'none' }>;

/** What became of a payment that a buyer has shown with a request; `signature` is base58, null where nobody has signed yet. */
export type Outcome =
  /** It buys this answer. */
  | {
      readonly kind: 'served';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly answer: Delivered;
    }
  /** It is not settled, and costs nobody anything: the buyer may pay in another way. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      readonly message: string;
      readonly payer: string | null;
      readonly logs?: readonly string[];
    }
  /** It is undecided, or another one for the same request is. The buyer must not pay again. */
  | { readonly kind: 'pending'; readonly signature: string | null; readonly payer: string | null }
  /** It has bought something already, or the caller does not show that it is his. */
  | { readonly kind: 'duplicate'; readonly payment: PaymentRow; readonly signature: string | null }
  /** It is paid, and the upstream has not answered yet. The obligation goes on. */
  | {
      readonly kind: 'owed';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly reason: string;
    }
  /** It is paid, and no node shows yet what arrived. The obligation goes on. */
  | { readonly kind: 'unread'; readonly payment: PaymentRow; readonly signature: string }
  /** Less arrived than was asked for: it buys nothing. */
  | {
      readonly kind: 'short';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly received: bigint;
    }
  /** It is paid, and cannot be served. `answer`: what the upstream said. */
  | {
      readonly kind: 'unservable';
      readonly payment: PaymentRow;
      readonly signature: string | null;
      readonly reason: string;
      readonly answer: Delivered | null;
    }
  /** It did not move any money, and never will: the buyer may pay again. */
  | {
      readonly kind: 'void';
      readonly reason: string;
      readonly message: string;
      readonly signature: string | null;
      readonly payer: string;
    }
  /** The payment identifier was used for another payment. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** The upstream was asked first, and its answer is not sold: the payment is not settled. */
  | { readonly kind: 'unsettled'; readonly reason: string; readonly answer: Delivered | null }
  /** No node could simulate it. Nothing was done with it: it may be shown again. */
  | { readonly kind: 'untried'; readonly reason: string }
  /** Nothing was done with it: it may be shown again. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** A stored answer as one that is delivered. */
export function whole(answer: StoredAnswer): Delivered {
  return { kind: 'whole', answer };
}
