import type { BlockHeader, Movement } from './deposit.ts';

/**
 * The name of a deposit, for ever: one row and one public id in every copy of the record. A slot has one finalized block, so that it
 * names the deposit whichever block of that slot announced it, and where nobody has the block any more.
 */
export function depositKey({
  signature,
  slot,
  account,
  asset,
}: Pick<Movement, 'signature' | 'account' | 'asset'> & Pick<BlockHeader, 'slot'>): string {
  return `${signature}/${slot}/${account}/${asset}`;
}
