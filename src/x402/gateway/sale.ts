import type { IncomingHttpHeaders } from 'node:http';
import type { BoughtRequest, Caller, PaymentRow } from '../../ledger/x402/payments.ts';
import type { CheckedPayment, PurchaseDeps } from '../purchase.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Refused, Resource } from '../terms.ts';
import type { UpstreamAsker, UpstreamResponse } from '../upstream.ts';
import type { RouteOffers } from './offers.ts';

export interface SaleDeps extends PurchaseDeps {
  readonly upstream: UpstreamAsker;
  readonly offers: RouteOffers;
  /** The first signs new quote tokens; all of them verify. */
  readonly quoteSecrets: readonly [string, ...string[]];
  /** Maximum wait for the settlement before the response is `settlement_pending`. */
  readonly answerWithinMs: number;
  readonly explorerUrl: (signature: string) => string;
}

/** A request for a priced route. */
export interface Sale {
  readonly route: PricedRoute;
  readonly resource: Resource;
  readonly headers: IncomingHttpHeaders;
  readonly requestHash: string;
  /** Null if the route has a static response. */
  readonly request: BoughtRequest | null;
  /** Its `identifier` is known only once the payment is read. */
  readonly caller: Caller;
}

export interface Order extends Sale, CheckedPayment {
  /** Slot of the transaction, if the buyer sent it. */
  readonly landedSlot: bigint | null;
}

interface Paid {
  readonly payment: PaymentRow;
  readonly signature: string;
}

/**
 * Outcome of a presented payment. The first six kinds are states of the payment, see `PAYMENT_STATES`; the others have
 * no effect. `signature` is base58; null before the fee payer has signed.
 */
export type SaleOutcome =
  /** It, or another payment for the same request, is undecided. The buyer must not pay again. */
  | { readonly kind: 'settling'; readonly signature: string | null; readonly payer: string | null }
  /** The upstream has not responded; or `reason` is null, and no node returns the amount received yet. */
  | ({ readonly kind: 'owed'; readonly reason: string | null } & Paid)
  | ({ readonly kind: 'served'; readonly answer: UpstreamResponse } & Paid)
  /** It is paid, but cannot be served. `answer`: the upstream's response. */
  | ({
      readonly kind: 'refundable';
      readonly reason: string;
      readonly answer: UpstreamResponse | null;
    } & Paid)
  /** The amount received is below the price: it buys nothing. */
  | ({ readonly kind: 'unmatched'; readonly received: bigint } & Paid)
  /** It moved no money, and never will: the buyer may pay again. */
  | {
      readonly kind: 'void';
      readonly reason: string;
      readonly message: string;
      readonly signature: string | null;
      readonly payer: string;
    }
  /** It has already bought something, or the caller does not prove that it is the buyer. */
  | { readonly kind: 'duplicate'; readonly payment: PaymentRow; readonly signature: string | null }
  | { readonly kind: 'conflict'; readonly message: string }
  /** The buyer may pay in another way. */
  | ({ readonly kind: 'refused'; readonly logs?: readonly string[] } & Refused)
  /** The upstream was called first, and its response is not sold: the settlement is cancelled. */
  | { readonly kind: 'cancelled'; readonly reason: string; readonly answer: UpstreamResponse | null }
  /** It may be presented again. `untried`: no node could simulate it. */
  | { readonly kind: 'untried' | 'unavailable'; readonly reason: string };

export type OutcomeOf<Kind extends SaleOutcome['kind']> = Extract<SaleOutcome, { readonly kind: Kind }>;
