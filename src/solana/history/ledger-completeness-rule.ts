import type { BlockHeader } from '../../domain/deposit.ts';
import type { Slots } from '../../domain/slots.ts';

export interface ShownLedger {
  /** The first block listed from the first slot on. */
  readonly first: Pick<BlockHeader, 'slot' | 'parentSlot' | 'height'>;
  /** The first block listed from the last slot on: in that slot, or the next one. */
  readonly last: Pick<BlockHeader, 'slot' | 'height'>;
  /** Number of blocks listed from `first` to `last`, both included. */
  readonly count: bigint;
}

/**
 * True if an honest node has every block of these slots. The parent of its first block must be before them, and its
 * count must match the heights of first and last. Heights grow by one per block, so a lost block is missing in the
 * count, and skipped slots change neither number. If these slots have no block, first and last are equal.
 */
export function hasAllOf({ from, to }: Slots, { first, last, count }: ShownLedger): boolean {
  if (first.slot < from || last.slot < to) return false;
  return first.parentSlot < from && count === last.height - first.height + 1n;
}
