import type { NodePool } from '../../src/solana/rpc/pool.ts';

/** Requests that the nodes of a pool got since the start for somebody's sake; probes are not among them. */
export function rpcCalls(pool: NodePool): number {
  return pool.report().reduce((sum, { calls }) => sum + calls, 0);
}
