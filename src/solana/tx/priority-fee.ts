import { ascending, highest, lowest } from '../../domain/bigint.ts';

/** Bounds of the price, in micro-lamports a compute unit. */
export interface PriceBounds {
  readonly floorMicroLamports: bigint;
  readonly capMicroLamports: bigint;
}

/** The most compute units that a transaction may ask for. Source: the runtime's compute budget. */
export const MAX_COMPUTE_UNITS = 1_400_000;

/** ceil(limit x price / 1,000,000) lamports. Source: docs/interface.md, Prioritization fee rules 2. */
export function priorityLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + 999_999n) / 1_000_000n;
}

/** What one block took to lock the accounts asked for, in micro-lamports a compute unit. */
export interface RecentFee {
  readonly slot: bigint;
  readonly prioritizationFee: bigint;
}

/** How far back a price counts. Nodes keep as many entries, but one only for each block with a transaction: these may be hours old. */
const RECENT_SLOTS = 150n;
/** Prices are `floor + k x BAND + salt`, with a salt below the band. */
const BAND = 1_000n;

/**
 * The price at `percentile` (0 to 1) of the slots up to `newest`. A slot without an entry, or with 0, took a transaction for nothing and
 * counts as 0: without the zeros, a payer on an idle chain would see its own prices only.
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
 * What recent blocks took, and at least twice what the `last` attempt offered (null: there was none); within floor and cap. So each
 * attempt offers more than the one before, however the market moves, until the cap leaves no room.
 * `salt` keeps equal transfers from being one message. It moves the price inside its band only, and a recent price counts as the start of its
 * band: so a price of our own, seen again as a recent one, leads to the same band and never to a higher one.
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

/** The highest price at which the priority fee of such a limit stays within `lamports`. */
export function dearestPrice(computeUnitLimit: number, lamports: bigint): bigint {
  return (lamports * 1_000_000n) / BigInt(computeUnitLimit);
}
