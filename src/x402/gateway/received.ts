import { base64 } from '@scure/base';
import type { PaymentRow } from '../../ledger/payments.ts';
import { getTransaction } from '../../solana/rpc/methods.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { readSigned } from '../../solana/signed-transaction.ts';
import { tokenChanges } from '../../solana/spending.ts';

/** Base units that a confirmed payment has brought to the seller's token account; null where no node shows the transaction. */
export async function receivedOf(
  pool: NodePool,
  signature: string,
  { wire, terms }: Pick<PaymentRow, 'wire' | 'terms'>,
): Promise<bigint | null> {
  const shown = await pool
    .read((node) => getTransaction(node, signature, 'confirmed'))
    // What no node can answer now is asked again with the payment.
    .catch(() => null);
  const meta = shown?.meta ?? null;
  const changes = meta && tokenChanges(meta.preTokenBalances, meta.postTokenBalances);
  if (changes === null) return null;
  const place = readSigned(base64.decode(wire))?.accounts.indexOf(terms.tokenAccount) ?? -1;
  return changes.get(place) ?? 0n;
}
