/** Blocks that a node lost at one stroke: its first available block moved from `from` to `to`. */
export interface LedgerGap {
  readonly from: bigint;
  readonly to: bigint;
}

/** How much of its ledger a node shows: from its first available block to its finalized slot. */
export interface LedgerWindow {
  readonly first: bigint;
  readonly finalized: bigint;
}

/** What is known of a node's ledger from before, perhaps from another process. */
export interface KnownLedger extends LedgerWindow {
  readonly gap: LedgerGap | null;
}

/** Slots that a node with a bounded ledger may drop at once; it drops about as many as it adds. */
const PURGE_SLOTS = 1_024n;

/**
 * The gap, if the window shrank by more than a purge does, or to less than half: then the node did not grow out of its old
 * blocks but began anew from a snapshot.
 */
export function gapBetween(before: LedgerWindow, after: LedgerWindow): LedgerGap | null {
  if (after.first <= before.first) return null;
  const was = before.finalized - before.first;
  const is = after.finalized - after.first;
  if (was - is <= PURGE_SLOTS && is * 2n >= was) return null;
  return { from: before.first, to: after.first - 1n };
}

/**
 * True where nothing of a gap can be missed any more: the node shows the lost blocks again, or so many newer ones that it would have
 * dropped those by now.
 */
export function isGrownOver(gap: LedgerGap, { first, finalized }: LedgerWindow): boolean {
  return first <= gap.from || finalized - first > gap.to - gap.from;
}
