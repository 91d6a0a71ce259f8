import type { IncomingHttpHeaders } from 'node:http';
import type { SettlementStatus } from '../../domain/settlement.ts';
import type { BoughtRequest, Caller, PaymentRow } from '../../ledger/x402/payments.ts';
import type { Passes } from '../passes/passes.ts';
import type { CheckedPayment, PurchaseDeps } from '../purchase.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Proof, Refused, Resource } from '../terms.ts';
import type { UpstreamResponse } from '../upstream.ts';
import type { PriceCall, UpstreamCall } from '../upstream-call.ts';
import type { EndedOffer, RouteOffers } from './offers.ts';

export interface SaleDeps extends PurchaseDeps {
  readonly upstream: UpstreamCall;
  readonly askPrice: PriceCall;
  readonly offers: RouteOffers;
  readonly passes: Passes;
  /** The first secret signs new quote tokens; a token is valid under any of them. */
  readonly quoteSecrets: readonly [string, ...string[]];
  /** Maximum wait for the settlement, in ms, before the response is `settlement_pending`. */
  readonly answerWithinMs: number;
  /** Takes a payment from the rate limit of a client address; returns the seconds to wait if there is none left. */
  readonly takePaymentToken: (address: string | null) => number;
  readonly explorerUrl: (signature: string) => string;
}

/** Longer than a settlement that its buyer waits for. */
const SETTLEMENT_MS = { 'settle-first': 30_000, 'serve-first': 60_000 } as const;

/**
 * Lease of a request that settles and serves a payment: long enough for the settlement, and for a call of the upstream
 * that takes no lease of its own. If the process stops, no other request can serve the payment for so long.
 */
export function firstLeaseMs({ route, request }: Pick<Sale, 'route' | 'request'>): number {
  const { flow, timeoutSeconds } = route;
  const callMs = flow === 'serve-first' || request?.isRepeatable === true ? timeoutSeconds * 1000 : 0;
  return SETTLEMENT_MS[flow] + callMs;
}

/** A request for a priced route. */
export interface Sale {
  readonly route: PricedRoute;
  /** Terms of a former route, which is not sold any more; null for a current one. */
  readonly ended: EndedOffer | null;
  readonly resource: Resource;
  /** Path of the request, without its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly requestHash: string;
  /** Null if the route has a static response. */
  readonly request: BoughtRequest | null;
  /** Its `identifier` is null until the payment is read. */
  readonly caller: Caller;
  /** Address whose rate limit counts the request; null if unknown. */
  readonly limitedAddress: string | null;
  /** Id of the payment whose access pass the request presents. Not set: none, or not verified. */
  readonly heldPayment?: string | null;
}

export interface Order extends Sale, CheckedPayment {
  /** Slot of a transaction that the buyer sent; null for one that the gateway sends. */
  readonly landedSlot: bigint | null;
}

/**
 * True if the upstream is called before the settlement. Never for a transaction that its buyer has sent: it has paid
 * already, so nothing can be cancelled.
 */
export function isAskedFirst(
  { route, request }: Pick<Sale, 'route' | 'request'>,
  dialect: Proof['dialect'],
): boolean {
  return route.flow === 'serve-first' && request !== null && dialect !== 'submitted';
}

/**
 * True for a stored payment without a settlement: it was on chain before it was presented, so the presenter may not be
 * its buyer.
 */
export function isUnbound({ state, received }: Pick<PaymentRow, 'state' | 'received'>): boolean {
  return state === 'unmatched' && received === null;
}

/** The columns of a payment row that come from the request. */
export function saleRow({ route, requestHash, caller }: Sale) {
  return { seller: 'gateway' as const, route: route.id, requestHash, caller };
}

interface LandedPayment {
  readonly payment: SoldPayment;
  readonly signature: string;
}

/** The columns of a landed payment that decide what its buyer gets. */
export type SoldPayment = Pick<
  PaymentRow,
  | 'id'
  | 'state'
  | 'reason'
  | 'dialect'
  | 'payer'
  | 'route'
  | 'terms'
  | 'wire'
  | 'signature'
  | 'received'
  | 'isAnswered'
  | 'answerStatus'
>;

/**
 * Outcome of a presented payment. The first six kinds are states of the payment, see `PAYMENT_STATES`; the others
 * leave the payment unchanged. `signature` is base58; null before the fee payer has signed.
 */
export type SaleOutcome =
  /** This payment has no final outcome yet. The buyer must not pay again. */
  | { readonly kind: 'settling'; readonly signature: string | null; readonly payer: string | null }
  /**
   * `reason`: why the upstream has not served the payment; null if no node returns the received amount yet.
   * `retryAfter`: that of the upstream.
   */
  | ({
      readonly kind: 'owed';
      readonly reason: string | null;
      readonly retryAfter: string | null;
    } & LandedPayment)
  | ({ readonly kind: 'served'; readonly answer: UpstreamResponse } & LandedPayment)
  /** The payment landed but cannot be served. `answer`: the upstream's refusal; null if there is none. */
  | ({
      readonly kind: 'refundable';
      readonly reason: string;
      readonly answer: UpstreamResponse | null;
    } & LandedPayment)
  /** The payment landed and buys nothing: too little was received (base units), or it breaks the rule in `refusal`. */
  | ({
      readonly kind: 'unmatched';
      readonly received: bigint;
      readonly refusal: Pick<Refused, 'reason' | 'message'> | null;
    } & LandedPayment)
  /** The payment has moved no money and never will, so the buyer may pay again. */
  | {
      readonly kind: 'void';
      readonly status: SettlementStatus;
      readonly reason: string;
      readonly message: string;
      readonly signature: string | null;
      readonly payer: string | null;
    }
  /** The payment belongs to another request, or the caller does not prove that it is the buyer. */
  | { readonly kind: 'duplicate'; readonly payment: SoldPayment; readonly signature: string | null }
  | { readonly kind: 'conflict'; readonly message: string }
  /** The payment breaks a rule of the terms. The buyer may present a different one. */
  | ({ readonly kind: 'refused'; readonly logs?: readonly string[] } & Refused)
  /** The upstream was called before settlement and returned nothing to sell, so the settlement was cancelled. */
  | { readonly kind: 'cancelled'; readonly reason: string; readonly answer: UpstreamResponse | null }
  /** The same payment may be presented again. `untried`: no node could simulate it. */
  | { readonly kind: 'untried' | 'unavailable'; readonly reason: string };

export type OutcomeOf<Kind extends SaleOutcome['kind']> = Extract<SaleOutcome, { readonly kind: Kind }>;
