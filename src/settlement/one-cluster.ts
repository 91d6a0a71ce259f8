import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';

/**
 * Resolves where what the nodes told until now may be held against this record: a quorum still shows the cluster that the pool was
 * opened with, and the record belongs to that. Throws NoHealthyNode or WrongCluster. Asked before anything is given up for dead or
 * passed as judged, because addresses of nodes and of databases may come to lead elsewhere while a process runs.
 */
export async function confirmOneCluster(
  ledger: Pick<Ledger, 'cluster'>,
  pool: Pick<NodePool, 'confirmCluster' | 'genesisHash'>,
): Promise<void> {
  await pool.confirmCluster();
  await ledger.cluster.check(pool.genesisHash);
}
