import { ascending, highest, lowest } from '../../domain/units.ts';

/** Limits of the price, in micro-lamports per compute unit. */
export interface PriceBounds {
  readonly floorMicroLamports: bigint;
  readonly capMicroLamports: bigint;
}

/** The most compute units that a transaction may request. Source: the runtime's compute budget. */
export const MAX_COMPUTE_UNITS = 1_400_000;

/** ceil(limit x price / 1,000,000) lamports. Source: docs/interface.md, Prioritization fee rules 2. */
export function priorityLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + 999_999n) / 1_000_000n;
}

/** The lowest price in one block for locking the requested accounts, in micro-lamports per compute unit. */
export interface RecentFee {
  readonly slot: bigint;
  readonly prioritizationFee: bigint;
}

/** How far back a price counts. Nodes keep an entry only for each block with a transaction: some may be hours old. */
const RECENT_SLOTS = 150n;
/** Prices are `floor + k x BAND + salt`, with a salt below the band. */
const BAND = 1_000n;

/**
 * The price at `percentile` (0 to 1) of the slots up to `newest`. A slot without an entry, or with 0, accepted a
 * transaction without priority fee and counts as 0. Without these zeros, a payer on an idle chain would see its own
 * prices only.
 */
export function recentPrice(fees: readonly RecentFee[], newest: bigint, percentile: number): bigint {
  const tip = highest([newest, ...fees.map(({ slot }) => slot)]);
  const recent = fees.filter(({ slot }) => slot > tip - RECENT_SLOTS);
  const paid = recent.map(({ prioritizationFee }) => prioritizationFee).filter((price) => price > 0n);
  const slots = Math.max(Number(RECENT_SLOTS), paid.length);
  const place = Math.min(slots - 1, Math.floor(slots * percentile)) - (slots - paid.length);
  return paid.toSorted(ascending)[place] ?? 0n;
}

/**
 * The recent price, and at least twice the price of the `last` attempt (null: none); within floor and cap. So each
 * attempt offers more than the previous one, however the market moves, until the cap is reached.
 * `salt` makes equal transfers different messages. It moves the price only inside its band, and a recent price counts
 * as the start of its band. So our own price, read again as a recent one, leads to the same band and never to a
 * higher one.
 */
export function attemptPrice(recent: bigint, last: bigint | null, salt: bigint, bounds: PriceBounds): bigint {
  const { floorMicroLamports, capMicroLamports: cap } = bounds;
  // At 0, doubling would never raise the price.
  const floor = highest([floorMicroLamports, 1n]);
  const bandsAbove = (price: bigint) => highest([price - floor, 0n]);
  const followed = bandsAbove(recent) / BAND;
  const doubled = (bandsAbove(2n * (last ?? 0n)) + BAND - 1n) / BAND;
  const salted = floor + highest([followed, doubled]) * BAND + (salt % BAND);
  return salted <= cap ? salted : cap - (salt % lowest([BAND, cap - floorMicroLamports + 1n]));
}

/** The highest price that keeps the priority fee of such a limit within `lamports`. */
export function maxPrice(computeUnitLimit: number, lamports: bigint): bigint {
  return (lamports * 1_000_000n) / BigInt(computeUnitLimit);
}
