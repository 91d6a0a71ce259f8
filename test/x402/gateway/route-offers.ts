import { Keypair } from '@solana/web3.js';
import type { Offers } from '../../../src/ledger/x402/offers.ts';
import { FeePayers } from '../../../src/x402/fee-payers.ts';
import { RouteOffers } from '../../../src/x402/gateway/offers.ts';
import type { PricedRoute, RoutePrice } from '../../../src/x402/routes/route.ts';
import { NETWORK, type SellingFixture } from '../facilitator/selling-fixture.ts';

interface OffersParts {
  readonly selling: SellingFixture;
  readonly rows: Offers;
  /** Addresses. */
  readonly feePayers: readonly string[];
  /** Lamports that each fee payer may spend in an hour. */
  readonly budget?: bigint;
  /** Default: one price in the mint of the fixture. */
  readonly prices?: PricedRoute['prices'];
  readonly upstreamPrice?: PricedRoute['upstreamPrice'];
}

const MAX_FEE = 15_000n;

/** A price in base units to the seller of the fixture. */
export function priceIn({ seller }: SellingFixture, asset: string, amount = 5n): RoutePrice {
  return {
    asset,
    amount,
    decimals: null,
    payTo: seller,
    finalizedAbove: null,
    confirmedByTwoAbove: null,
  };
}

/** The offers of one route, and the changes that they report: of the route, and of its assets. */
export function routeOffers({
  selling,
  rows,
  feePayers: addresses,
  budget = 10_000_000n,
  prices = [priceIn(selling, selling.mint)],
  upstreamPrice = null,
}: OffersParts) {
  const route: PricedRoute = {
    kind: 'priced',
    id: `GET /${Keypair.generate().publicKey.toBase58()}`,
    method: 'GET',
    segments: ['report'],
    upstream: null,
    upstreamHeaders: {},
    answer: null,
    prices,
    upstreamPrice,
    description: '',
    mimeType: '',
    flow: 'settle-first',
    stream: false,
    timeoutSeconds: 30,
    maxAnswerBytes: null,
    retryUnsafe: false,
    paymentIdentifier: 'off',
    serializedTransaction: 'accepted',
    accessPass: null,
    discovery: null,
    maxTimeoutSeconds: 60,
    memo: null,
  };
  const { chain } = selling.fixture;
  const budgets = selling.budgets(budget, 10_000_000n);
  const feePayers = new FeePayers({ chain, budgets, addresses, maxFeeLamports: MAX_FEE });
  const changes: (string | null)[] = [];
  const assetChanges: (readonly [asset: string, reason: string | null])[] = [];
  const deps = { offers: rows, chain, network: NETWORK, tokenPolicy: {}, validMs: 60_000, feePayers };
  const onChange = (_route: string, reason: string | null) => changes.push(reason);
  const onAssetChange = (_route: string, asset: string, reason: string | null) =>
    assetChanges.push([asset, reason]);
  const offers = new RouteOffers({ ...deps, onChange, onAssetChange }, [route]);
  return { route, offers, changes, assetChanges };
}
