import { U64_MAX } from '../../domain/amount.ts';
import type { Network } from '../networks.ts';
import type { PricedRoute } from './route.ts';
import type { RouteEntry } from './schema.ts';

const USDC_DECIMALS = 6;

type Amount = NonNullable<RouteEntry['price']>;
export type Price = Pick<PricedRoute, 'asset' | 'amount' | 'decimals' | 'finalizedAbove'>;

export function priceOf(entry: RouteEntry, price: Amount, network: Network): Price | readonly string[] {
  const { finalizedAbove } = entry;
  const assets = new Set([entry.asset, assetIn(price), finalizedAbove && assetIn(finalizedAbove)]);
  assets.delete(undefined);
  if (assets.size > 1) return ['.asset: must be the same wherever it is set in one route'];
  const [named = 'USDC'] = assets;
  const asset = named === 'USDC' ? network.usdc : named;
  const decimals = asset === network.usdc ? USDC_DECIMALS : entry.decimals;
  if (entry.decimals !== undefined && entry.decimals !== decimals)
    return [`.decimals: must be ${decimals}: USDC has ${decimals} decimals`];
  const amount = unitsOf(price, decimals);
  const above = finalizedAbove === undefined ? null : unitsOf(finalizedAbove, decimals);
  const faults: string[] = [];
  if (typeof amount === 'string') faults.push(`.price: ${amount}`);
  if (amount === 0n) faults.push('.price: must be above 0; a route that costs nothing has "free": true');
  if (typeof above === 'string') faults.push(`.finalizedAbove: ${above}`);
  if (faults.length > 0 || typeof amount === 'string' || typeof above === 'string') return faults;
  const isDecimal = [price, finalizedAbove].some((one) => one !== undefined && decimalIn(one) !== null);
  return { asset, amount, decimals: isDecimal ? (decimals ?? null) : null, finalizedAbove: above };
}

function assetIn(amount: Amount): string | undefined {
  return typeof amount === 'string' ? undefined : amount.asset;
}

function decimalIn(amount: Amount): string | null {
  if (typeof amount === 'string') return amount;
  return 'decimal' in amount ? amount.decimal : null;
}

function unitsOf(amount: Amount, decimals: number | undefined): bigint | string {
  if (typeof amount !== 'string' && 'amount' in amount) return bounded(BigInt(amount.amount));
  if (decimals === undefined)
    return 'a decimal needs the decimals of the mint: set decimals, or give base units such as {"amount": "1000"}';
  const [whole = '0', fraction = ''] = (decimalIn(amount) ?? '0').split('.');
  if (fraction.length > decimals) return `must have at most ${decimals} digits after the point`;
  return bounded(BigInt(whole + fraction.padEnd(decimals, '0')));
}

function bounded(units: bigint): bigint | string {
  return units > U64_MAX ? `must be at most ${U64_MAX} base units` : units;
}
