import { ascending, highest, lowest } from '../domain/extremes.ts';

/** Bounds of the price, in micro-lamports a compute unit. */
export interface PriceBounds {
  readonly floorMicroLamports: bigint;
  readonly capMicroLamports: bigint;
}

/** The most compute units that a transaction may ask for. Source: the runtime's compute budget. */
export const MAX_COMPUTE_UNITS = 1_400_000;

/** ceil(limit x price / 1,000,000) lamports. Source: exchange-interface: Prioritization fee rules 2. */
export function priorityLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + 999_999n) / 1_000_000n;
}

/** The price at `percentile` (0 to 1) among the non-zero ones; 0 where there is none. */
export function percentileOf(prices: readonly bigint[], percentile: number): bigint {
  const paid = prices.filter((price) => price > 0n).toSorted(ascending);
  return paid[Math.min(paid.length - 1, Math.floor(paid.length * percentile))] ?? 0n;
}

/**
 * What recent blocks took, and at least twice what the `last` attempt offered (null: there was none); within floor and cap, and moved by
 * `salt` inside them. So each attempt offers more than the one before, however the market moves, until the cap leaves no room.
 */
export function attemptPrice(recent: bigint, last: bigint | null, salt: bigint, bounds: PriceBounds): bigint {
  const { floorMicroLamports: floor, capMicroLamports: cap } = bounds;
  const raised = highest([recent, floor, 2n * (last ?? 0n), 1n]);
  const salted = lowest([raised, cap]) + salt;
  return salted <= cap ? salted : cap - (salt % (cap - floor + 1n));
}
