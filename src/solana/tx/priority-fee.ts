import { ascending, highest, lowest } from '../../domain/units.ts';

/** Bounds of a price, in micro-lamports per compute unit. */
export interface PriceBounds {
  readonly floorMicroLamports: bigint;
  readonly capMicroLamports: bigint;
}

/** Maximum compute unit limit of a transaction. Source: the runtime's compute budget. */
export const MAX_COMPUTE_UNITS = 1_400_000;

/** Priority fee in lamports, rounded up. Source: docs/interface.md, Prioritization fee rules 2. */
export function priorityLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + 999_999n) / 1_000_000n;
}

/** Lowest price in the block of `slot` for locking the requested accounts, in micro-lamports per compute unit. */
export interface RecentFee {
  readonly slot: bigint;
  readonly prioritizationFee: bigint;
}

/** Age limit of prices, in slots. Nodes store prices only for blocks with transactions, so some can be hours old. */
const MAX_PRICE_AGE_SLOTS = 150n;
/** Width of a price band: prices are `floor + k * BAND_WIDTH + salt`, with a salt below the width. */
const BAND_WIDTH = 1_000n;

/**
 * Price at `percentile` (0 to 1) over the recent slots up to `newestSlot`, in micro-lamports per compute unit. A slot
 * without an entry counts as price 0, because it would have accepted a transaction without a priority fee. Otherwise, a
 * payer on an idle chain would follow only its own prices.
 */
export function recentPrice(fees: readonly RecentFee[], newestSlot: bigint, percentile: number): bigint {
  const tip = highest([newestSlot, ...fees.map(({ slot }) => slot)]);
  const recentFees = fees.filter(({ slot }) => slot > tip - MAX_PRICE_AGE_SLOTS);
  const paidPrices = recentFees
    .map(({ prioritizationFee }) => prioritizationFee)
    .filter((price) => price > 0n);
  const slotCount = Math.max(Number(MAX_PRICE_AGE_SLOTS), paidPrices.length);
  const index = Math.min(slotCount - 1, Math.floor(slotCount * percentile)) - (slotCount - paidPrices.length);
  return paidPrices.toSorted(ascending)[index] ?? 0n;
}

/**
 * Price of an attempt, in micro-lamports per compute unit: the recent price, but at least twice the price of the
 * previous attempt (`lastMicroLamports`, null if there is none), within `bounds`. So each attempt offers more than
 * the previous one until the cap is reached. `salt` varies the price, so that equal transfers have different
 * messages. The salt moves a price only within its band, and a recent price counts as the start of its band. So our
 * own price, if nodes return it as a recent price, does not raise later prices.
 */
export function attemptPrice(
  recentMicroLamports: bigint,
  lastMicroLamports: bigint | null,
  salt: bigint,
  bounds: PriceBounds,
): bigint {
  const { floorMicroLamports, capMicroLamports: cap } = bounds;
  // At least 1, because doubling 0 would never raise the price.
  const floor = highest([floorMicroLamports, 1n]);
  const bandsAbove = (price: bigint) => highest([price - floor, 0n]);
  const recentBands = bandsAbove(recentMicroLamports) / BAND_WIDTH;
  const doubledBands = (bandsAbove(2n * (lastMicroLamports ?? 0n)) + BAND_WIDTH - 1n) / BAND_WIDTH;
  const price = floor + highest([recentBands, doubledBands]) * BAND_WIDTH + (salt % BAND_WIDTH);
  return price <= cap ? price : cap - (salt % lowest([BAND_WIDTH, cap - floorMicroLamports + 1n]));
}

/** Highest price, in micro-lamports per compute unit, whose priority fee is at most `maxLamports`. */
export function maxPrice(computeUnitLimit: number, maxLamports: bigint): bigint {
  return (maxLamports * 1_000_000n) / BigInt(computeUnitLimit);
}
