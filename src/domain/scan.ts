/** States in which the scan reads blocks. */
export const READING_SCAN_STATES = ['starting', 'tail', 'catch-up'] as const;

/** States in which the scan waits for nodes or operators. */
export const HALTED_SCAN_STATES = ['waiting', 'stopped'] as const;

/** States without a current worker report. */
export const UNREPORTED_SCAN_STATES = ['silent', 'absent'] as const;

/**
 * A worker's report about the scan. `tip`: the newest slot that a quorum has finalized. `reason`: why the scan makes no
 * progress. The details of a pause or gap are in their own rows.
 */
export interface ScanReport {
  readonly state: (typeof READING_SCAN_STATES | typeof HALTED_SCAN_STATES)[number] | 'paused' | 'gap';
  readonly tip: bigint | null;
  readonly reason: string | null;
}

/** Slots as decimal strings, both ends inclusive. */
export interface ScanRange {
  readonly from: string;
  readonly to: string;
}

/** Blocks to read ahead of the cursor: those after the block `after`, on which a quorum agrees, up to slot `to`. */
export interface CatchUpRange {
  readonly after: ScanCursor;
  readonly to: string;
}

/** Ranges to read ahead. `behind` is false, and `ranges` empty, near the tip or if `reason` names an obstacle. */
export interface CatchUpPlan {
  readonly behind: boolean;
  readonly ranges: readonly CatchUpRange[];
  readonly reason: string | null;
}

/** Whether all blocks of a range are staged. `reason`: why not; null if unknown. */
export interface RangeEnd {
  readonly complete: boolean;
  readonly reason: string | null;
}

/**
 * Result of joining staged blocks to the cursor. `joined`: number of blocks. `status` is null if `reason` names an
 * obstacle.
 */
export interface JoinEnd {
  readonly joined: number;
  readonly status: ScanStatus | null;
  readonly reason: string | null;
}

/** How long an activity follows the newest blocks. */
export interface TailCommand {
  readonly seconds: number;
}

/** The last block that was linked, scanned and committed; decimal strings. */
export interface ScanCursor {
  readonly slot: string;
  readonly blockhash: string;
  readonly height: string;
}

export interface ScanPosition {
  /** Null before the first block. */
  readonly cursor: ScanCursor | null;
  /** The newest slot that a quorum has finalized, from the newest worker report; null without a report. */
  readonly tip: string | null;
  readonly lag: string | null;
  /** Average over about one minute; null if unknown, or while the scan makes no progress. */
  readonly blocksPerSecond: number | null;
  /** ISO-8601 time of the newest worker report; null without a report. */
  readonly at: string | null;
}

/** Why the scan makes no progress (one sentence), and since when (ISO-8601). */
interface Standstill {
  readonly reason: string;
  readonly since: string;
}

/**
 * Status of the scan, as stored in PostgreSQL. Workers report at each change of state, and otherwise every two seconds.
 *
 * - `starting`, `tail`, `catch-up`: the scan starts, reads blocks as they are finalized, or reads many in parallel.
 * - `waiting`: the scan waits for nodes; `stopped`: it waits for an operator.
 * - `paused`: an operator paused it, and an operator must resume it.
 * - `gap`: the chain links to blocks in the slots of `gap`, and no node returns them.
 * - `silent`: no worker has reported for a minute; `absent`: the scan was never started.
 */
export type ScanStatus = ScanPosition &
  (
    | { readonly state: (typeof READING_SCAN_STATES)[number] }
    | ({ readonly state: (typeof HALTED_SCAN_STATES)[number] } & Standstill)
    | ({ readonly state: 'paused'; readonly actor: string } & Standstill)
    | ({ readonly state: 'gap'; readonly gap: ScanRange } & Standstill)
    | { readonly state: (typeof UNREPORTED_SCAN_STATES)[number] }
  );

export const GAP_STATES = ['open', 'filled', 'closed'] as const;

/** Slots whose blocks no node returned. `filled`: read later; `closed`: skipped by an operator. Times are ISO-8601. */
export interface ScanGap extends ScanRange {
  readonly state: (typeof GAP_STATES)[number];
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly actor: string | null;
  readonly reason: string | null;
  /** When a rescan finished reading all blocks of a closed gap from a quorum of nodes; null until it has. */
  readonly readAt: string | null;
}

/** A range of slots, both ends inclusive. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** The JSON form of a range, for workflow arguments. */
export function rangeOf({ from, to }: Slots): ScanRange {
  return { from: from.toString(), to: to.toString() };
}

/** Throws SyntaxError if a slot is not a number. */
export function slotsOf({ from, to }: ScanRange): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}
