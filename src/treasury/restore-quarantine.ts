import { BLOCKHASH_LIFE } from '../solana/proof/judge.ts';

/** Nodes list a transaction a little after it is final: so many newest slots are read again, and so many blocks are waited. */
export const LISTED_LATE = 150n;
/** No honest node is so many blocks ahead of what others have confirmed. */
const FARTHEST_AHEAD = 10_000n;

/**
 * The finalized height that ends a gap in the record: above it every attempt of before has landed, and is listed, or never can.
 * It is the highest of the confirmed `heights` that nodes report now, a blockhash life and the lateness of lists: too high a claim
 * only costs time, so one that `quorum` others stand far below is not believed, and a `stored` end that no node comes near any
 * more is put right. Null where fewer than a quorum tell: a single one that is behind would end the gap too early.
 */
export function quarantineEnd(
  heights: readonly bigint[],
  quorum: number,
  stored: bigint | null,
): bigint | null {
  const falling = heights.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  const [highest] = falling;
  if (highest === undefined || falling.length < quorum) return stored;
  const seconded = falling.length > quorum ? (falling[quorum - 1] ?? highest) : highest;
  const believed = falling.find((height) => height <= seconded + FARTHEST_AHEAD) ?? seconded;
  const end = believed + BLOCKHASH_LIFE + LISTED_LATE;
  return stored === null || stored > end + FARTHEST_AHEAD ? end : stored;
}
