import { Chain } from '../../src/solana/chain.ts';
import type { NodePool } from '../../src/solana/rpc/pool.ts';

/** A {@link Chain} whose questions for accounts wait for no others: the questions of a test are few. */
export function quickChain(pool: NodePool): Chain {
  return new Chain(pool, { accountWindowMs: 0, secondLookWindowMs: 0 });
}
