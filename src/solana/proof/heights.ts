import type { NodeAnswer } from '../../domain/attempt.ts';
import { type Commitment, getBlockHeight } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';

/** Block heights of all nodes that answer, in configured order. Finalized ones begin every proof of death. */
export async function askHeights(
  pool: NodePool,
  commitment: Commitment,
): Promise<readonly NodeAnswer<bigint>[]> {
  const answers = await pool.all((node) => getBlockHeight(node, commitment));
  return answers.flatMap(({ node, result }, index) =>
    result.status === 'fulfilled' ? [{ node, sequence: 1 + index, answer: result.value }] : [],
  );
}
