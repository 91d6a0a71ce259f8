import type { IncomingHttpHeaders } from 'node:http';
import type { BoughtRequest, Caller } from '../../ledger/x402/payments.ts';
import type { Network } from '../networks.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Limits, Resource } from '../terms.ts';
import type { SharedBlockhash } from './hints.ts';
import type { RouteOffers } from './offers.ts';
import type { PurchaseDeps } from './order.ts';

export interface SaleDeps extends PurchaseDeps {
  readonly network: Network;
  readonly offers: RouteOffers;
  readonly hints: SharedBlockhash;
  /** Addresses of all fee payer keys, including those that new quotes no longer name. */
  readonly managed: readonly string[];
  readonly limits: Limits;
  /** The first signs new quote tokens; all of them verify. */
  readonly quoteSecrets: readonly [string, ...string[]];
  readonly explorerUrl: (signature: string) => string;
}

export interface Sale {
  readonly route: PricedRoute;
  readonly resource: Resource;
  readonly headers: IncomingHttpHeaders;
  readonly requestHash: string;
  /** Null if the route has a static response. */
  readonly request: BoughtRequest | null;
  /** Caller data of the request without the payment. */
  readonly caller: Caller;
}
