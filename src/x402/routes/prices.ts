import { U64_MAX } from '../../domain/amount.ts';
import type { Network } from '../terms.ts';
import type { PricedRoute } from './route.ts';
import type { RouteEntry } from './schema.ts';

const USDC_DECIMALS = 6;

type Amount = NonNullable<RouteEntry['price']>;
export type Price = Pick<PricedRoute, 'asset' | 'amount' | 'decimals' | 'finalizedAbove'>;

/** The price of a route, null if it has none; with the faults of its keys. */
export function priceOf(
  { price, asset: named, decimals: set, finalizedAbove }: RouteEntry,
  network: Network,
): { readonly price: Price | null; readonly faults: readonly string[] } {
  if (price === undefined) return { price: null, faults: [] };
  const failed = (...faults: string[]) => ({ price: null, faults });
  const assets = new Set([named, price.asset, finalizedAbove?.asset]);
  assets.delete(undefined);
  if (assets.size > 1) return failed('.asset: must be the same wherever it is set in one route');
  const [one = 'USDC'] = assets;
  const asset = one === 'USDC' ? network.usdc : one;
  const decimals = asset === network.usdc ? USDC_DECIMALS : set;
  if (set !== undefined && set !== decimals)
    return failed(`.decimals: must be ${decimals}: USDC has ${decimals} decimals`);
  const amount = unitsOf(price, decimals);
  const above = finalizedAbove === undefined ? null : unitsOf(finalizedAbove, decimals);
  const faults: string[] = [];
  if (typeof amount === 'string') faults.push(`.price: ${amount}`);
  if (amount === 0n) faults.push('.price: must be above 0; a route that costs nothing has "free": true');
  if (typeof above === 'string') faults.push(`.finalizedAbove: ${above}`);
  if (faults.length > 0 || typeof amount === 'string' || typeof above === 'string') return failed(...faults);
  const isDecimal = [price, finalizedAbove].some((one) => one !== undefined && 'decimal' in one);
  const mustHave = isDecimal ? (decimals ?? null) : null;
  return { price: { asset, amount, decimals: mustHave, finalizedAbove: above }, faults };
}

function unitsOf(amount: Amount, decimals: number | undefined): bigint | string {
  if ('amount' in amount) return bounded(BigInt(amount.amount));
  if (decimals === undefined)
    return 'a decimal needs the decimals of the mint: set decimals, or give base units such as {"amount": "1000"}';
  const [whole = '0', fraction = ''] = amount.decimal.split('.');
  if (fraction.length > decimals) return `must have at most ${decimals} digits after the point`;
  return bounded(BigInt(whole + fraction.padEnd(decimals, '0')));
}

function bounded(units: bigint): bigint | string {
  return units > U64_MAX ? `must be at most ${U64_MAX} base units` : units;
}
