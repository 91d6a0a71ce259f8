import { Chain } from '../../src/solana/chain.ts';
import type { NodePool } from '../../src/solana/rpc/pool.ts';

/** A {@link Chain} that does not batch account requests: a test makes few requests. */
export function quickChain(pool: NodePool): Chain {
  return new Chain(pool, { accountWindowMs: 0 });
}

/** Options of a fee planner that does not batch price requests. */
export const QUICK_PRICES = {
  floorMicroLamports: 1_000n,
  capMicroLamports: 1_000_000n,
  maxFeeLamports: 500_000n,
  requestWindowMs: 0,
};
