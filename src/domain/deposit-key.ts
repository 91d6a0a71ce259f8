import type { BlockHeader, Movement } from './deposit.ts';

/**
 * The permanent key of a deposit: it yields the same row and public id in every copy of the database. A slot has one
 * finalized block, so the slot identifies the deposit whichever block announced it, and after the block is lost.
 */
export function depositKey({
  signature,
  slot,
  account,
  asset,
}: Pick<Movement, 'signature' | 'account' | 'asset'> & Pick<BlockHeader, 'slot'>): string {
  return `${signature}/${slot}/${account}/${asset}`;
}
