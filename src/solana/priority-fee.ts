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
  const paid = prices.filter((price) => price > 0n).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return paid[Math.min(paid.length - 1, Math.floor(paid.length * percentile))] ?? 0n;
}

/** Doubles with each attempt after the first, stays within floor and cap, and moves by `salt` inside them. */
export function attemptPrice(recent: bigint, n: number, salt: bigint, bounds: PriceBounds): bigint {
  const { floorMicroLamports: floor, capMicroLamports: cap } = bounds;
  const started = recent > floor ? recent : floor;
  const raised = (started > 0n ? started : 1n) * 2n ** BigInt(Math.min(Math.max(n, 1), 32) - 1);
  const salted = (raised > cap ? cap : raised) + salt;
  return salted <= cap ? salted : cap - (salt % (cap - floor + 1n));
}
