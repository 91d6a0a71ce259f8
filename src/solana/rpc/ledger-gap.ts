/** Blocks that a node lost at once: its first available block moved from `from` to `to` + 1. */
export interface LedgerGap {
  readonly from: bigint;
  readonly to: bigint;
}

/** The part of the ledger that a node has: from its first available block to its finalized slot. */
export interface LedgerWindow {
  readonly first: bigint;
  readonly finalized: bigint;
}

/** A node's ledger as known from earlier, maybe from another process. */
export interface KnownLedger extends LedgerWindow {
  readonly gap: LedgerGap | null;
}

/** Slots that a node with a bounded ledger may purge at once; it purges about as many as it adds. */
const PURGE_SLOTS = 1_024n;

/** Returns the gap if the window shrank by more than a purge, or to less than half: the node took a new snapshot. */
export function gapBetween(before: LedgerWindow, after: LedgerWindow): LedgerGap | null {
  if (after.first <= before.first) return null;
  const was = before.finalized - before.first;
  const is = after.finalized - after.first;
  if (was - is <= PURGE_SLOTS && is * 2n >= was) return null;
  return { from: before.first, to: after.first - 1n };
}

/** True if the gap no longer matters: the node has the lost blocks again, or would have purged them by now. */
export function isGrownOver(gap: LedgerGap, { first, finalized }: LedgerWindow): boolean {
  return first <= gap.from || finalized - first > gap.to - gap.from;
}
