import { base64 } from '@scure/base';
import type { PaymentTerms } from '../ledger/x402/payments.ts';
import { type Spending, tokenChanges } from '../solana/proof/spending.ts';
import { getTransaction } from '../solana/rpc/methods.ts';
import type { SolanaNode } from '../solana/rpc/node.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { readSigned } from '../solana/tx/signed-transaction.ts';

/** The wire bytes of a transaction in base64, null once they are deleted, and the token account that it should credit. */
interface CreditingTransaction {
  readonly wire: string | null;
  readonly terms: Pick<PaymentTerms, 'tokenAccount'>;
}

/** Base units that the seller's token account gained; null if the transaction's metadata does not have the amount. */
export function receivedBy(
  { wire, terms }: CreditingTransaction,
  { tokenChanges: changes }: Pick<Spending, 'tokenChanges'>,
): bigint | null {
  const accountIndex = readSigned(base64.decode(wire ?? ''))?.accounts.indexOf(terms.tokenAccount) ?? -1;
  return changes === null || accountIndex < 0 ? null : (changes.get(accountIndex) ?? 0n);
}

/**
 * {@link receivedBy} for a transaction that is read from a node as confirmed. `byQuorum`: a quorum of nodes must return
 * the amount. Null also if no node, or no quorum, returns it.
 */
export async function receivedOf(
  pool: NodePool,
  signature: string,
  payment: CreditingTransaction,
  byQuorum = false,
): Promise<bigint | null> {
  const ask = async (node: SolanaNode) => {
    const meta = (await getTransaction(node, signature, 'confirmed'))?.meta ?? null;
    return receivedBy(payment, {
      tokenChanges: meta && tokenChanges(meta.preTokenBalances, meta.postTokenBalances),
    });
  };
  const answer = byQuorum
    ? pool.agreed(ask, Object.is).then((agreed) => agreed?.answer ?? null)
    : pool.read(ask);
  // Not an error: the next request with this payment asks the nodes again.
  return answer.catch(() => null);
}
