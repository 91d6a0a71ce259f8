import { base64 } from '@scure/base';
import type { PaymentTerms } from '../ledger/x402/payments.ts';
import { type Spending, tokenChanges } from '../solana/proof/spending.ts';
import { getTransaction } from '../solana/rpc/methods.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { readSigned } from '../solana/tx/signed-transaction.ts';

/** The base64 wire bytes of a transaction, and the token account that it should credit. */
interface Credited {
  readonly wire: string;
  readonly terms: Pick<PaymentTerms, 'tokenAccount'>;
}

/** Base units that the seller's token account gained; null if the landed transaction does not show it. */
export function receivedBy(
  { wire, terms }: Credited,
  { tokenChanges: changes }: Pick<Spending, 'tokenChanges'>,
): bigint | null {
  const place = readSigned(base64.decode(wire))?.accounts.indexOf(terms.tokenAccount) ?? -1;
  return changes === null || place < 0 ? null : (changes.get(place) ?? 0n);
}

/** Like {@link receivedBy}, of a confirmed transaction; null also if no node returns it. */
export async function receivedOf(
  pool: NodePool,
  signature: string,
  payment: Credited,
): Promise<bigint | null> {
  const transaction = await pool
    .read((node) => getTransaction(node, signature, 'confirmed'))
    // The next request with the payment asks the nodes again.
    .catch(() => null);
  const meta = transaction?.meta ?? null;
  return receivedBy(payment, {
    tokenChanges: meta && tokenChanges(meta.preTokenBalances, meta.postTokenBalances),
  });
}
