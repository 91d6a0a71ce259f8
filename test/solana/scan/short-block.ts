import { getBlockBytes } from '../../../src/solana/rpc/methods.ts';
import type { SolanaNode } from '../../../src/solana/rpc/node.ts';

/** The answer of a node with a block that fits into memory. */
export function shortBlock(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
): Promise<Uint8Array | null> {
  return getBlockBytes<never>(node, slot, commitment, () => {
    throw new Error(`block ${slot} is long`);
  });
}
