import { DomainError } from '../../domain/errors.ts';
import { getBlocks } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { progressOf, reachedBy } from '../wallet-history.ts';

/** The newest slot that a quorum has finalized: one that lags holds back, one that lies moves nothing. Throws NoHealthyNode. */
export async function finalizedTip(pool: NodePool): Promise<bigint> {
  const progress = await progressOf(pool);
  const tip = reachedBy(
    pool.quorum,
    progress.map(({ slot }) => slot),
  );
  if (tip !== null) return tip;
  const message = `${progress.length} nodes tell what they have finalized, ${pool.quorum} must`;
  throw new DomainError('NoHealthyNode', message);
}

/**
 * The slots in which any node lists a finalized block, ascending. A hint of what to fetch: lists are short where a node lost its
 * ledger, and a list may name what does not exist. One that is late when a quorum has listed is not waited for. Empty where no node
 * answers. Source: solana §2.3.1.
 */
export async function listedSlots(pool: NodePool, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const answers = await pool.most((node) => getBlocks(node, from, to));
  const listed = answers.flatMap(({ result }) => (result.status === 'fulfilled' ? result.value : []));
  const inRange = listed.filter((slot) => slot >= from && slot <= to);
  return [...new Set(inRange)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}
