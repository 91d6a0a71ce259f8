import { readReturnedPrices, termsAtPrices } from '../formats/upstream-price.ts';
import { type PricedRoute, priceIn } from '../routes/route.ts';
import type { Terms } from '../terms.ts';
import { discardAnswer } from '../upstream.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** Terms at the current price of the upstream; or why there are none. The reason is public. */
export type PricedTerms =
  | { readonly ok: true; readonly value: readonly [Terms, ...Terms[]] }
  | { readonly ok: false; readonly reason: string };

export type PriceDeps = Pick<SaleDeps, 'askPrice' | 'network' | 'warn'>;
export type PricedSale = Pick<Sale, 'request' | 'resource'> & {
  readonly route: Pick<PricedRoute, 'id' | 'prices' | 'upstreamPrice'>;
};

/**
 * Asks the upstream for the price of the request. The result has those of `capped` whose asset has a price, which is at
 * most the maximum that the route has now.
 */
export async function askForPrice(
  { askPrice, network, warn }: PriceDeps,
  { route, request, resource }: PricedSale,
  capped: readonly Terms[],
): Promise<PricedTerms> {
  const { upstreamPrice } = route;
  if (upstreamPrice === null || request === null)
    return { ok: false, reason: 'the price of this route is no longer set by the upstream' };
  const answer = await askPrice({ request, priceUrl: upstreamPrice.url, publicUrl: resource.url });
  if (answer.kind !== 'none') discardAnswer(answer);
  const returned = readReturnedPrices(answer, upstreamPrice.url !== null);
  const limits = capped.flatMap((terms) => {
    const limit = priceIn(route, terms.asset);
    return limit === undefined ? [] : [{ ...terms, amount: limit.amount }];
  });
  const priced = returned.ok ? termsAtPrices(limits, returned.value, network) : returned;
  if (!priced.ok) warn(null, `${route.id} has no price now: ${priced.reason}`);
  return priced;
}
