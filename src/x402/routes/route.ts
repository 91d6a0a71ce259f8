import type { HeaderValue, StoredAnswer } from '../../ledger/x402/obligations.ts';
import type { RouteDiscovery } from './discovery.ts';

/**
 * Methods that a route may have. The gateway responds to HEAD with 405, because an upstream may execute HEAD as GET. It
 * handles OPTIONS itself, and forwards no other method.
 */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

interface CommonRoute {
  /** Method and pattern, such as `GET /reports/:id`. Unique; stored with payments. */
  readonly id: string;
  readonly method: Method;
  /** Segments of the pattern: literals, `:name` for any one segment, and at the end `*` for all further segments. */
  readonly segments: readonly string[];
  /** Base URL of the upstream; null if the route has a static response. */
  readonly upstream: string | null;
  /** Headers that are added to each request to the upstream, with names in lower case. */
  readonly upstreamHeaders: Readonly<Record<string, HeaderValue>>;
  readonly answer: StoredAnswer | null;
}

export interface FreeRoute extends CommonRoute {
  readonly kind: 'free';
  /** Whether the seller confirms that no sold resource has a path that this route matches. */
  readonly widerThanPriced: boolean;
}

/** Time that the upstream has for its response, unless the route says otherwise. */
export const UPSTREAM_TIMEOUT_SECONDS = 30;

/** The price of a route in one asset. */
export interface RoutePrice {
  readonly asset: string;
  /** Base units. If the upstream sets the price: the highest price that is offered. */
  readonly amount: bigint;
  /** Decimals with which the price was converted; the mint must have the same. Null for a price in base units. */
  readonly decimals: number | null;
  readonly payTo: string;
  /** Above this price (base units) the gateway serves only after finalization. Null: `confirmed` is always enough. */
  readonly finalizedAbove: bigint | null;
  /** Above this price (base units) a quorum of nodes must report `confirmed`. Null: above one whole token. */
  readonly confirmedByTwoAbove: bigint | null;
}

/** The source of a price that the upstream sets for each request. */
interface UpstreamPrice {
  /** The seller's price URL. Null: a HEAD request to the upstream. */
  readonly url: string | null;
  /** How long a quoted price is valid. */
  readonly validSeconds: number;
}

export interface PricedRoute extends CommonRoute {
  readonly kind: 'priced';
  /** In the order of the file, with one price for each asset. */
  readonly prices: readonly [RoutePrice, ...RoutePrice[]];
  /** Null: `prices` has the prices themselves. */
  readonly upstreamPrice: UpstreamPrice | null;
  readonly description: string;
  readonly mimeType: string;
  readonly flow: 'settle-first' | 'serve-first';
  /** Time that the upstream has for its response. */
  readonly timeoutSeconds: number;
  /** Larger responses (bytes) are streamed and not stored. Null: 1 MiB. */
  readonly maxAnswerBytes: number | null;
  /** Whether a 2xx response is passed on from its first byte on, without being stored. */
  readonly stream: boolean;
  /** Whether a request with a non-idempotent method may be sent to the upstream twice. */
  readonly retryUnsafe: boolean;
  readonly paymentIdentifier: 'off' | 'optional' | 'required';
  /** Whether a payment may be a completely signed transaction without the memo of a quote. */
  readonly serializedTransaction: 'accepted' | 'refused';
  /** Time for which an access pass of a payment is valid after service. Null: a payment buys one request. */
  readonly accessPass: { readonly seconds: number } | null;
  readonly maxTimeoutSeconds: number;
  /** The memo that each payment must contain. Null: any memo, or none. */
  readonly memo: string | null;
  /** Input and output for the lists of resources. Null: the route is not listed. */
  readonly discovery: RouteDiscovery | null;
}

export type Route = FreeRoute | PricedRoute;

/** The price in this asset; undefined if the routes file no longer has one. */
export function priceIn({ prices }: Pick<PricedRoute, 'prices'>, asset: string): RoutePrice | undefined {
  return prices.find((price) => price.asset === asset);
}
