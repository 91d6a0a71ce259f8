import { z } from 'zod';
import { mintOf, unitsOfDecimal } from '../routes/prices.ts';
import { DECIMAL } from '../routes/schema.ts';
import type { Network, Terms } from '../terms.ts';
import type { UpstreamAnswer } from '../upstream.ts';
import { ambiguousKeys } from './json.ts';

/** Header in which an upstream returns its prices, such as `0.25 USDC`. */
const PRICE_HEADER = 'x402-price';

/** A price as the upstream returns it. */
interface ReturnedPrice {
  readonly decimal: string;
  /** USDC, or a mint address. */
  readonly asset: string;
}

type PriceResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: string };

const HEADER_ENTRY = /^([0-9.]+) +([A-Za-z0-9]+)$/;
const body = z.object({
  prices: z.array(z.object({ amount: z.string(), asset: z.string() })).min(1),
});

/**
 * The prices in a response of the upstream: in the header {@link PRICE_HEADER} if it answers a HEAD request, in its JSON
 * body if it answers a request to the price URL. Not ok for any other response, because no price can be assumed.
 */
export function readReturnedPrices(
  answer: UpstreamAnswer,
  isPriceUrl: boolean,
): PriceResult<readonly [ReturnedPrice, ...ReturnedPrice[]]> {
  const refused = (reason: string) => ({ ok: false as const, reason });
  if (answer.kind === 'none') return refused(answer.reason);
  if (answer.kind === 'streamed')
    return refused('the response of the upstream to the price request is too large');
  if (answer.status < 200 || answer.status >= 300)
    return refused(`the upstream returned ${answer.status} to the price request`);
  const header = answer.headers[PRICE_HEADER];
  const [first, ...others] = isPriceUrl
    ? pricesInBody(Buffer.from(answer.body, 'base64').toString('utf8'))
    : pricesInHeader(typeof header === 'string' ? header : '');
  if (first === undefined) return refused('the upstream returned no valid price');
  const all = [first, ...others] as const;
  if (!all.every(({ decimal }) => DECIMAL.test(decimal)))
    return refused('the upstream returned no valid price');
  if (new Set(all.map(({ asset }) => asset)).size < all.length)
    return refused('the upstream returned two prices in one asset');
  return { ok: true, value: all };
}

/** Empty if one of the entries is malformed. */
function pricesInHeader(text: string): readonly ReturnedPrice[] {
  const entries = text.split(',').map((entry) => HEADER_ENTRY.exec(entry.trim()));
  const prices = entries.flatMap((entry) => (entry === null ? [] : [toPrice(entry[1], entry[2])]));
  return prices.length === entries.length ? prices : [];
}

function pricesInBody(text: string): readonly ReturnedPrice[] {
  try {
    const { prices } = body.parse(JSON.parse(text));
    return ambiguousKeys(text).length > 0 ? [] : prices.map(({ amount, asset }) => toPrice(amount, asset));
  } catch {
    return [];
  }
}

function toPrice(decimal = '', asset = ''): ReturnedPrice {
  return { decimal, asset };
}

/**
 * The terms of a request at the returned prices, in the order of `capped`: those of each asset whose price is above 0
 * and at most its maximum. Not ok if there are none.
 */
export function termsAtPrices(
  capped: readonly Terms[],
  prices: readonly ReturnedPrice[],
  network: Network,
): PriceResult<readonly [Terms, ...Terms[]]> {
  const faults: string[] = [];
  const terms = capped.flatMap((limit): readonly Terms[] => {
    const price = prices.find(({ asset }) => mintOf(asset, network) === limit.asset);
    if (price === undefined) return [];
    const amount = unitsOfDecimal(price.decimal, limit.decimals);
    if (typeof amount === 'bigint' && amount > 0n && amount <= limit.amount) return [{ ...limit, amount }];
    faults.push(
      `the price of the upstream in the asset ${limit.asset} is not within the limits of the route`,
    );
    return [];
  });
  const [first, ...others] = terms;
  if (first !== undefined) return { ok: true, value: [first, ...others] };
  return { ok: false, reason: faults[0] ?? 'the upstream returned no price in an asset of the route' };
}
