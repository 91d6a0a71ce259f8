import { U64_MAX } from '../../domain/amount.ts';
import type { Network } from '../terms.ts';
import type { PricedRoute } from './route.ts';
import type { RouteEntry } from './schema.ts';

const USDC_DECIMALS = 6;

type Amount = NonNullable<RouteEntry['price']>;
export type Price = Pick<
  PricedRoute,
  'asset' | 'amount' | 'decimals' | 'finalizedAbove' | 'confirmedByTwoAbove'
>;

/**
 * The price of an entry, and the faults of its price keys. `price` is null for a free route, or if there are faults.
 */
export function priceOf(
  entry: RouteEntry,
  network: Network,
): { readonly price: Price | null; readonly faults: readonly string[] } {
  const { price, asset: configuredAsset, decimals: configuredDecimals } = entry;
  const { finalizedAbove, confirmedByTwoAbove } = entry;
  if (price === undefined) return { price: null, faults: [] };
  const invalid = (...faults: string[]) => ({ price: null, faults });
  const amounts = [price, finalizedAbove, confirmedByTwoAbove];
  const assets = new Set([configuredAsset, ...amounts.map((amountOfRoute) => amountOfRoute?.asset)]);
  assets.delete(undefined);
  if (assets.size > 1)
    return invalid('.asset: must be the same in asset, price, finalizedAbove and confirmedByTwoAbove');
  const [namedAsset = 'USDC'] = assets;
  const asset = namedAsset === 'USDC' ? network.usdc : namedAsset;
  const decimals = asset === network.usdc ? USDC_DECIMALS : configuredDecimals;
  if (configuredDecimals !== undefined && configuredDecimals !== decimals)
    return invalid(`.decimals: must be ${decimals}, the decimals of USDC`);
  const faults: string[] = [];
  const unitsAt = (key: string, amountOfRoute: Amount | undefined): bigint | null => {
    const units = amountOfRoute === undefined ? null : unitsOf(amountOfRoute, decimals);
    if (typeof units !== 'string') return units;
    faults.push(`.${key}: ${units}`);
    return null;
  };
  const amount = unitsAt('price', price);
  const above = {
    finalizedAbove: unitsAt('finalizedAbove', finalizedAbove),
    confirmedByTwoAbove: unitsAt('confirmedByTwoAbove', confirmedByTwoAbove),
  };
  if (amount === 0n) faults.push('.price: must be above 0; for a route that costs nothing, set "free": true');
  if (faults.length > 0 || amount === null) return invalid(...faults);
  const isDecimal = amounts.some(
    (amountOfRoute) => amountOfRoute !== undefined && 'decimal' in amountOfRoute,
  );
  return { price: { asset, amount, decimals: isDecimal ? (decimals ?? null) : null, ...above }, faults };
}

function unitsOf(amount: Amount, decimals: number | undefined): bigint | string {
  if ('amount' in amount) return withinU64(BigInt(amount.amount));
  if (decimals === undefined)
    return 'a decimal price of this asset requires the key decimals; or use base units such as {"amount": "1000"}';
  const [whole = '0', fraction = ''] = amount.decimal.split('.');
  if (fraction.length > decimals) return `must have at most ${decimals} digits after the decimal point`;
  return withinU64(BigInt(whole + fraction.padEnd(decimals, '0')));
}

function withinU64(units: bigint): bigint | string {
  return units > U64_MAX ? `must be at most ${U64_MAX} base units` : units;
}
