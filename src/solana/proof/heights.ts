import type { NodeAnswer } from '../../domain/attempt.ts';
import { type Commitment, getBlockHeight } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';

/** Block heights of all nodes that answer, in configured order. Finalized ones begin every proof of death. */
export async function askHeights(
  pool: NodePool,
  commitment: Commitment,
): Promise<readonly NodeAnswer<bigint>[]> {
  const answers = answersIn(await pool.all((node) => getBlockHeight(node, commitment)));
  return answers.map((answer, index) => ({ ...answer, sequence: 1 + index }));
}
