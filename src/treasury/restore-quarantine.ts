import { highest } from '../domain/units.ts';
import { BLOCKHASH_LIFE } from '../solana/proof/judge.ts';
import { highestQuorumValue } from '../solana/rpc/quorum.ts';

/** Lag of node listings: that many newest slots are listed again, and that many blocks are waited for. */
export const LISTED_LATE = 150n;
/** An honest node is never more blocks than this ahead of the heights that other nodes have confirmed. */
const FARTHEST_AHEAD = 10_000n;

/**
 * Block height at which the pause after a restore ends: by then every earlier attempt has landed and is listed, or has
 * expired. It is the highest confirmed height that nodes report, plus a blockhash lifetime and the lag of listings.
 *
 * Too high a height only costs time, so a height far above the quorum's is ignored. A `stored` end far above all nodes
 * is corrected. With reports from fewer than a quorum `stored` is kept: one node that is behind would end the pause
 * too early.
 */
export function quarantineEnd(
  heights: readonly bigint[],
  quorum: number,
  stored: bigint | null,
): bigint | null {
  const common = highestQuorumValue(heights, heights.length > quorum ? quorum : 1);
  if (common === null || heights.length < quorum) return stored;
  const believed = highest([common, ...heights.filter((height) => height <= common + FARTHEST_AHEAD)]);
  const end = believed + BLOCKHASH_LIFE + LISTED_LATE;
  return stored === null || stored > end + FARTHEST_AHEAD ? end : stored;
}
