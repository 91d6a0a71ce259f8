import { highest } from '../domain/units.ts';
import { BLOCKHASH_LIFE } from '../solana/proof/judge.ts';
import { reached } from '../solana/rpc/quorum.ts';

/**
 * Maximum lag of a listing behind the blocks of its node. This many of the newest slots are listed again, and the
 * pause after a restore is this many blocks longer.
 */
export const MAX_LISTING_LAG = 150n;
/** An honest node is never more blocks than this ahead of the heights that other nodes have confirmed. */
const MAX_BLOCKS_AHEAD = 10_000n;

/**
 * Block height at which the pause after a restore ends: by then every earlier attempt has expired, or has landed and
 * is listed. It is the highest confirmed height that nodes report, plus the validity of a blockhash and the lag of
 * listings.
 *
 * A height that is too high only prolongs the pause, but one that is far above the height of the quorum is ignored. A
 * `stored` end far above all nodes is corrected. If fewer nodes than a quorum report, `stored` is returned: one node
 * that lags would end the pause too early.
 */
export function quarantineEnd(
  heights: readonly bigint[],
  quorum: number,
  stored: bigint | null,
): bigint | null {
  const agreedHeight = reached(heights, heights.length > quorum ? quorum : 1);
  if (agreedHeight === null || heights.length < quorum) return stored;
  const highestHeight = highest([
    agreedHeight,
    ...heights.filter((height) => height <= agreedHeight + MAX_BLOCKS_AHEAD),
  ]);
  const end = highestHeight + BLOCKHASH_LIFE + MAX_LISTING_LAG;
  return stored === null || stored > end + MAX_BLOCKS_AHEAD ? end : stored;
}
