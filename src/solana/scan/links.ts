import type { BlockHeader } from '../../domain/deposit.ts';

/** Which block of a slot: what a cursor keeps. */
export type BlockName = Pick<BlockHeader, 'slot' | 'blockhash' | 'height'>;

/**
 * True where `next` is the very next block after `previous`, whatever slots lie between: this and nothing else proves that no block
 * is missing. A node that lacks blocks can fail to show such a link, and cannot make one up. Source: solana §2.3.3.
 */
export function links(previous: BlockName, next: BlockHeader): boolean {
  return (
    next.slot > previous.slot &&
    next.parentSlot === previous.slot &&
    next.previousBlockhash === previous.blockhash &&
    next.height === previous.height + 1n
  );
}
