import { tokenChanges } from '../../solana/proof/spending.ts';
import { getTransaction } from '../../solana/rpc/methods.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { type Credited, receivedBy } from '../received.ts';

/** Base units that a confirmed payment added to the seller's token account; null if no node returns the transaction. */
export async function receivedOf(
  pool: NodePool,
  signature: string,
  payment: Credited,
): Promise<bigint | null> {
  const shown = await pool
    .read((node) => getTransaction(node, signature, 'confirmed'))
    // The next request with the payment asks the nodes again.
    .catch(() => null);
  const meta = shown?.meta ?? null;
  return receivedBy(payment, {
    tokenChanges: meta && tokenChanges(meta.preTokenBalances, meta.postTokenBalances),
  });
}
