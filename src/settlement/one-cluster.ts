import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';

/**
 * Checks that a quorum of nodes still serves the pool's cluster, and that the database belongs to it. Call it before
 * an attempt is declared dead or judged: the address of a node or database may lead elsewhere while a process runs.
 * @throws NoHealthyNode
 * @throws WrongCluster
 */
export async function confirmOneCluster(
  ledger: Pick<Ledger, 'cluster'>,
  pool: Pick<NodePool, 'confirmCluster' | 'genesisHash'>,
): Promise<void> {
  await pool.confirmCluster();
  await ledger.cluster.check(pool.genesisHash);
}
