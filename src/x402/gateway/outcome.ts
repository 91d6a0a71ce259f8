import type { PaymentRow, StoredAnswer } from '../../ledger/x402/payments.ts';
import type { UpstreamAnswer } from '../upstream.ts';

/** The upstream's response: complete, or with a streamed body. */
export type Delivered = Exclude<UpstreamAnswer, { kind: 'none' }>;

/** Outcome of a presented payment. `signature` is base58; null before the fee payer has signed. */
export type SaleOutcome =
  | {
      readonly kind: 'served';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly answer: Delivered;
    }
  /** It is not settled and costs nothing: the buyer may pay in another way. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      readonly message: string;
      readonly payer: string | null;
      readonly logs?: readonly string[];
    }
  /** It, or another payment for the same request, is undecided. The buyer must not pay again. */
  | { readonly kind: 'pending'; readonly signature: string | null; readonly payer: string | null }
  /** It has already bought something, or the caller does not prove that it is the buyer. */
  | { readonly kind: 'duplicate'; readonly payment: PaymentRow; readonly signature: string | null }
  /** It is paid, but the upstream has not responded. The obligation remains. */
  | {
      readonly kind: 'owed';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly reason: string;
    }
  /** It is paid, but no node returns the amount received yet. The obligation remains. */
  | { readonly kind: 'unread'; readonly payment: PaymentRow; readonly signature: string }
  /** The amount received is below the price: it buys nothing. */
  | {
      readonly kind: 'short';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly received: bigint;
    }
  /** It is paid, but cannot be served. `answer`: the upstream's response. */
  | {
      readonly kind: 'unservable';
      readonly payment: PaymentRow;
      readonly signature: string | null;
      readonly reason: string;
      readonly answer: Delivered | null;
    }
  /** It moved no money, and never will: the buyer may pay again. */
  | {
      readonly kind: 'void';
      readonly reason: string;
      readonly message: string;
      readonly signature: string | null;
      readonly payer: string;
    }
  | { readonly kind: 'conflict'; readonly message: string }
  /** The upstream was called first, and its response is not sold: the payment is not settled. */
  | { readonly kind: 'unsettled'; readonly reason: string; readonly answer: Delivered | null }
  /** No node could simulate it. It has no effect, and may be presented again. */
  | { readonly kind: 'untried'; readonly reason: string }
  /** It has no effect, and may be presented again. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export function whole(answer: StoredAnswer): Delivered {
  return { kind: 'whole', answer };
}
