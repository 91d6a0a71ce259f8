import { Chain } from '../../src/solana/chain.ts';
import type { NodePool } from '../../src/solana/rpc/pool.ts';

/** A {@link Chain} whose questions for accounts wait for no others: the questions of a test are few. */
export function quickChain(pool: NodePool): Chain {
  return new Chain(pool, { accountWindowMs: 0 });
}

/** Options of a fee planner whose questions for prices wait for no others. */
export const QUICK_PRICES = {
  floorMicroLamports: 1_000n,
  capMicroLamports: 1_000_000n,
  maxFeeLamports: 500_000n,
  requestWindowMs: 0,
};
