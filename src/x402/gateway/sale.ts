import type { IncomingHttpHeaders } from 'node:http';
import type { BoughtRequest, Caller } from '../../ledger/x402/payments.ts';
import type { Network } from '../networks.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { Limits, Resource } from '../terms.ts';
import type { SharedBlockhash } from './hints.ts';
import type { RouteOffers } from './offers.ts';
import type { PurchaseDeps } from './order.ts';

/** What the gateway sells with. */
export interface SaleDeps extends PurchaseDeps {
  readonly network: Network;
  readonly offers: RouteOffers;
  readonly hints: SharedBlockhash;
  /** Addresses of all keys that pay fees, those included that new quotes do not name any more. */
  readonly managed: readonly string[];
  readonly limits: Limits;
  /** The first makes quote tokens; all are honoured. */
  readonly quoteSecrets: readonly [string, ...string[]];
  readonly explorerUrl: (signature: string) => string;
}

/** A request for a route that is sold. */
export interface Sale {
  readonly route: PricedRoute;
  readonly resource: Resource;
  readonly headers: IncomingHttpHeaders;
  readonly requestHash: string;
  /** Null where the route has an answer of its own. */
  readonly request: BoughtRequest | null;
  /** Of what the request shows without the payment. */
  readonly caller: Caller;
}
