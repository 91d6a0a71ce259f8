import { U64_MAX } from '../../domain/amount.ts';
import { type Network, USDC_DECIMALS } from '../terms.ts';
import type { PricedRoute, RoutePrice } from './route.ts';
import type { RouteEntry } from './schema.ts';

/** Bytes of the memo in all entries of the header PAYMENT-REQUIRED. */
const MAX_HEADER_MEMO_BYTES = 1_024;

type FilePrice = NonNullable<RouteEntry['price']>;
type FromUpstream = Extract<FilePrice, { readonly from: 'upstream' }>;
type Amount = Exclude<FilePrice, FromUpstream>;
type PriceEntry = NonNullable<RouteEntry['prices']>[number];

export type Prices = Pick<PricedRoute, 'prices' | 'upstreamPrice'>;
type Read<Value> = { readonly value: Value; readonly faults: readonly string[] };

/** An amount with the other keys of its asset, and their places in the entry, such as `.price` and ``. */
interface PriceInput {
  readonly amount: Amount;
  readonly keys: Pick<RouteEntry, 'asset' | 'decimals' | 'finalizedAbove' | 'confirmedByTwoAbove'>;
  readonly payTo: string;
  readonly amountAt: string;
  readonly keysAt: string;
}

/** In a list of prices, each entry has these keys. */
const KEYS_OF_ONE_ASSET = ['asset', 'decimals', 'finalizedAbove', 'confirmedByTwoAbove'] as const;

/**
 * The prices of an entry, and the faults of its price keys. Null for a free route, or if there are faults. `payTo`: the
 * wallet of the file.
 */
export function pricesOf(entry: RouteEntry, network: Network, payTo: string): Read<Prices | null> {
  const { price, prices } = entry;
  const wallet = entry.payTo ?? payTo;
  const { url = null, validSeconds } = isFromUpstream(price) ? price : { validSeconds: null };
  const upstreamPrice = validSeconds === null ? null : { url, validSeconds };
  const max = isFromUpstream(price) ? price.max : price;
  const at = isFromUpstream(price) ? '.price.max' : '.price';
  if (Array.isArray(max)) return pricesOfList(entry, listed(max, wallet, at), at, network, upstreamPrice);
  if (prices !== undefined)
    return pricesOfList(entry, listed(prices, wallet, '.prices'), '.prices', network, null);
  if (max === undefined) return { value: null, faults: [] };
  const single = { amount: max, keys: entry, payTo: wallet, amountAt: at, keysAt: '' };
  const { value: first, faults } = priceOf(single, network);
  return { value: first && { prices: [first], upstreamPrice }, faults };
}

function isFromUpstream(price: FilePrice | undefined): price is FromUpstream {
  return price !== undefined && 'from' in price;
}

function listed(entries: readonly PriceEntry[], wallet: string, at: string): readonly PriceInput[] {
  return entries.map((entry, index) => {
    const place = `${at}[${index}]`;
    return { amount: entry, keys: entry, payTo: entry.payTo ?? wallet, amountAt: place, keysAt: place };
  });
}

function pricesOfList(
  entry: RouteEntry,
  list: readonly PriceInput[],
  at: string,
  network: Network,
  upstreamPrice: Prices['upstreamPrice'],
): Read<Prices | null> {
  const misplaced = KEYS_OF_ONE_ASSET.filter((key) => entry[key] !== undefined);
  const read = list.map((priced) => priceOf(priced, network));
  const values = read.flatMap(({ value }) => value ?? []);
  const assets = values.map(({ asset }) => asset);
  const memoBytes = Buffer.byteLength(JSON.stringify(entry.memo ?? '')) - 2;
  const repeated = assets.filter((asset, index) => assets.indexOf(asset) !== index);
  const faults = [
    ...misplaced.map((key) => `.${key}: must be set in the entries of ${at.slice(1)}`),
    ...read.flatMap((one) => one.faults),
    ...repeated.map((asset) => `${at}: has two prices in the asset ${asset}`),
  ];
  if (list.length > 1 && memoBytes * list.length > MAX_HEADER_MEMO_BYTES)
    faults.push(
      `.memo: must have at most ${Math.floor(MAX_HEADER_MEMO_BYTES / list.length)} bytes as JSON with ${list.length} prices, because the 402 response has it in each of them`,
    );
  const [first, ...others] = values;
  if (first === undefined || faults.length > 0) return { value: null, faults };
  return { value: { prices: [first, ...others], upstreamPrice }, faults };
}

function priceOf(priced: PriceInput, network: Network): Read<RoutePrice | null> {
  const { amount: price, payTo, amountAt, keysAt } = priced;
  const { asset: configuredAsset, decimals: configuredDecimals, ...limits } = priced.keys;
  const { finalizedAbove, confirmedByTwoAbove } = limits;
  const invalid = (...faults: string[]) => ({ value: null, faults });
  const amounts = [price, finalizedAbove, confirmedByTwoAbove];
  const assets = new Set([configuredAsset, ...amounts.map((amountOfRoute) => amountOfRoute?.asset)]);
  assets.delete(undefined);
  if (assets.size > 1)
    return invalid(
      `${keysAt}.asset: must be the same in asset, price, finalizedAbove and confirmedByTwoAbove`,
    );
  const [namedAsset = 'USDC'] = assets;
  const asset = mintOf(namedAsset, network);
  const decimals = asset === network.usdc ? USDC_DECIMALS : configuredDecimals;
  if (configuredDecimals !== undefined && configuredDecimals !== decimals)
    return invalid(`${keysAt}.decimals: must be ${decimals}, the decimals of USDC`);
  const faults: string[] = [];
  const unitsAt = (place: string, amountOfRoute: Amount | undefined): bigint | null => {
    const units = amountOfRoute === undefined ? null : unitsOf(amountOfRoute, decimals);
    if (typeof units !== 'string') return units;
    faults.push(`${place}: ${units}`);
    return null;
  };
  const amount = unitsAt(amountAt, price);
  const above = {
    finalizedAbove: unitsAt(`${keysAt}.finalizedAbove`, finalizedAbove),
    confirmedByTwoAbove: unitsAt(`${keysAt}.confirmedByTwoAbove`, confirmedByTwoAbove),
  };
  if (amount === 0n)
    faults.push(`${amountAt}: must be above 0; for a route that costs nothing, set "free": true`);
  if (faults.length > 0 || amount === null) return invalid(...faults);
  const isDecimal = amounts.some((one) => one !== undefined && 'decimal' in one);
  return {
    value: { asset, amount, decimals: isDecimal ? (decimals ?? null) : null, payTo, ...above },
    faults,
  };
}

/** The mint address of an asset in a routes file, or in a price of the upstream. */
export function mintOf(asset: string, { usdc }: Pick<Network, 'usdc'>): string {
  return asset === 'USDC' ? usdc : asset;
}

function unitsOf(amount: Amount, decimals: number | undefined): bigint | string {
  if ('amount' in amount) return withinU64(BigInt(amount.amount));
  if (decimals === undefined)
    return 'a decimal price of this asset requires the key decimals; or use base units such as {"amount": "1000"}';
  return unitsOfDecimal(amount.decimal, decimals);
}

/** Base units of a decimal with digits on both sides of its point; or why it has none. */
export function unitsOfDecimal(decimal: string, decimals: number): bigint | string {
  const [whole = '0', fraction = ''] = decimal.split('.');
  if (fraction.length > decimals) return `must have at most ${decimals} digits after the decimal point`;
  return withinU64(BigInt(whole + fraction.padEnd(decimals, '0')));
}

function withinU64(units: bigint): bigint | string {
  return units > U64_MAX ? `must be at most ${U64_MAX} base units` : units;
}
