import { base64 } from '@scure/base';
import type { PaymentTerms } from '../ledger/x402/payments.ts';
import type { Spending } from '../solana/proof/spending.ts';
import { readSigned } from '../solana/tx/signed-transaction.ts';

/** The base64 wire bytes of a transaction, and the token account that it should credit. */
export interface Credited {
  readonly wire: string;
  readonly terms: Pick<PaymentTerms, 'tokenAccount'>;
}

/** Base units that the seller's token account gained; null if the landed transaction does not show it. */
export function receivedBy(
  { wire, terms }: Credited,
  { tokenChanges }: Pick<Spending, 'tokenChanges'>,
): bigint | null {
  const place = readSigned(base64.decode(wire))?.accounts.indexOf(terms.tokenAccount) ?? -1;
  if (tokenChanges === null || place < 0) return null;
  return tokenChanges.get(place) ?? 0n;
}
