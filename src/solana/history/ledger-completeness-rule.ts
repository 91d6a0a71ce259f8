import type { BlockHeader } from '../../domain/deposit.ts';
import type { Slots } from '../../domain/slots.ts';

/** What a node shows of its ledger over some slots. */
export interface ShownLedger {
  /** The first block that it lists from their beginning on. */
  readonly first: Pick<BlockHeader, 'slot' | 'parentSlot' | 'height'>;
  /** The first block that it lists from their end on: within them, or the next one. */
  readonly last: Pick<BlockHeader, 'slot' | 'height'>;
  /** How many blocks it lists from the one to the other, both included. */
  readonly count: bigint;
}

/**
 * True where a node that does not lie has every block of these slots: no block lies before its first one, by the parent of that, and it
 * lists as many as the heights of first and last are apart. As heights grow by one from block to block, what the node has lost is
 * missing in the count, and slots that the chain has skipped are in neither. Where there was no block at all, first and last are one.
 */
export function hasAllOf({ from, to }: Slots, { first, last, count }: ShownLedger): boolean {
  if (first.slot < from || last.slot < to) return false;
  return first.parentSlot < from && count === last.height - first.height + 1n;
}
