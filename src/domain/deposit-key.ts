import type { BlockHeader, Movement } from './deposit.ts';

type Arrived = Pick<Movement, 'signature' | 'account' | 'asset'>;

/** The name of a finalized deposit. A finalized slot has one block, so that the slot names it even where its hash is not known. */
export function finalizedKey({
  signature,
  slot,
  account,
  asset,
}: Arrived & Pick<BlockHeader, 'slot'>): string {
  return `${signature}/${slot}/${account}/${asset}`;
}

/**
 * The name of an announced deposit: forks may show one transaction in several blocks of a slot, and one node may show a block at a slot
 * that is not its own.
 */
export function announcedKey({
  blockhash,
  ...arrived
}: Parameters<typeof finalizedKey>[0] & { readonly blockhash: BlockHeader['blockhash'] | null }): string {
  return `${finalizedKey(arrived)}/${blockhash}`;
}
