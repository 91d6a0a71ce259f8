export const IN_PROGRESS = ['starting', 'tail', 'catch-up'] as const;

/** States in which the scan waits for nodes or operators. */
export const HALTED = ['waiting', 'stopped'] as const;

/** States without a reported status. */
export const WITHOUT_REPORT = ['silent', 'absent'] as const;

/**
 * What a worker reports: its state, the finalized slot of a quorum or null, and why the scan makes no progress. Pause
 * and gap have rows of their own.
 */
export interface ScanReport {
  readonly state: (typeof IN_PROGRESS | typeof HALTED)[number] | 'paused' | 'gap';
  readonly tip: bigint | null;
  readonly reason: string | null;
}

/** Slots as decimal strings, both ends inclusive. */
export interface ScanRange {
  readonly from: string;
  readonly to: string;
}

/** Blocks to read ahead of the cursor: after `after`, on which a quorum agrees, up to slot `to`. */
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

/** Whether a range is staged to its end; if not, why (null if unknown). */
export interface RangeEnd {
  readonly complete: boolean;
  readonly reason: string | null;
}

/** Number of blocks joined to the cursor, and the status after it; null if `reason` names an obstacle. */
export interface JoinEnd {
  readonly joined: number;
  readonly status: ScanStatus | null;
  readonly reason: string | null;
}

/** How long to follow the chain. */
export interface TailOrder {
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
  /** The newest slot that a quorum has finalized, by the last worker report; null without one. */
  readonly tip: string | null;
  readonly lag: string | null;
  /** Average of about the last minute; null while unknown, and while the scan makes no progress. */
  readonly blocksPerSecond: number | null;
  /** ISO-8601 time of the newest worker report; null without one. */
  readonly at: string | null;
}

/** Why the scan makes no progress (one sentence), and since when (ISO-8601). */
interface Standstill {
  readonly reason: string;
  readonly since: string;
}

/**
 * Status of the scan, by its `state`. All of it is read from PostgreSQL. Workers report at each change of state, and
 * otherwise every two seconds.
 *
 * - `starting`, `tail`, `catch-up`: in progress: it starts, reads blocks as they are finalized, or reads many in
 *   parallel.
 * - `waiting`: waits for nodes; `stopped`: waits for an operator.
 * - `paused`: an operator paused it, and an operator must resume it.
 * - `gap`: the chain links to blocks in the slots of `gap`, and no node returns them.
 * - `silent`: no worker has reported for a minute; `absent`: not started.
 */
export type ScanStatus = ScanPosition &
  (
    | { readonly state: (typeof IN_PROGRESS)[number] }
    | ({ readonly state: (typeof HALTED)[number] } & Standstill)
    | ({ readonly state: 'paused'; readonly actor: string } & Standstill)
    | ({ readonly state: 'gap'; readonly gap: ScanRange } & Standstill)
    | { readonly state: (typeof WITHOUT_REPORT)[number] }
  );

export const GAP_STATES = ['open', 'filled', 'closed'] as const;

/** Slots whose blocks no node returned. `filled`: found later; `closed`: skipped by an operator. ISO-8601 times. */
export interface ScanGap extends ScanRange {
  readonly state: (typeof GAP_STATES)[number];
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly actor: string | null;
  readonly reason: string | null;
  /** When a rescan had read all blocks of a closed gap from a quorum of nodes; null before. */
  readonly readAt: string | null;
}

/** Both ends inclusive. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** The JSON form, used in workflow arguments. */
export function rangeOf({ from, to }: Slots): ScanRange {
  return { from: from.toString(), to: to.toString() };
}

/** Throws SyntaxError if a slot is not a number. */
export function slotsOf({ from, to }: ScanRange): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}
