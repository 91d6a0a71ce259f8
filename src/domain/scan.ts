/** The states in which the scan goes on. */
export const GOING_ON = ['starting', 'tail', 'catch-up'] as const;

/** It stands still until nodes or people help it on. */
export const STANDING_STILL = ['waiting', 'stopped'] as const;

/** No status is known. */
export const UNTOLD = ['silent', 'absent'] as const;

/** Slots as decimal strings, both ends included. */
export interface ScanRange {
  readonly from: string;
  readonly to: string;
}

/** Blocks to be read ahead of the cursor: those behind `after`, which a quorum agrees on, up to slot `to`. */
export interface CatchUpRange {
  readonly after: ScanCursor;
  readonly to: string;
}

/**
 * What is to be read ahead; `behind` is false, and nothing is, where the scan is near the tip or where `reason` says what stands in the way.
 */
export interface CatchUpPlan {
  readonly behind: boolean;
  readonly ranges: readonly CatchUpRange[];
  readonly reason: string | null;
}

/** Whether a range is staged to its end; else, where that is known, why not. */
export interface RangeEnd {
  readonly complete: boolean;
  readonly reason: string | null;
}

/** How many blocks were joined to the cursor, and how the scan stands then; `status` is null where `reason` says what stands in the way. */
export interface JoinEnd {
  readonly joined: number;
  readonly status: ScanStatus | null;
  readonly reason: string | null;
}

/** How long to follow the chain, and since when the scan stands still, as its last status said; null where it goes on. */
export interface TailOrder {
  readonly seconds: number;
  readonly since: string | null;
}

/** The last block that was linked, scanned and committed; decimal strings. */
export interface ScanCursor {
  readonly slot: string;
  readonly blockhash: string;
  readonly height: string;
}

/** How far the scan is. Slots are decimal strings. */
export interface ScanPosition {
  /** The last block that was linked, scanned and committed; null before the first. */
  readonly cursor: ScanCursor | null;
  /** The newest slot that a quorum of nodes has finalized, by what a worker told last; null where none tells. */
  readonly tip: string | null;
  /** Slots from the cursor to the tip. */
  readonly lag: string | null;
  /** Over the newest report; null before there is one, and while the scan is paused. */
  readonly blocksPerSecond: number | null;
  /** ISO-8601: when the worker said so; null where none did. */
  readonly at: string | null;
}

/** Why the scan stands still: one sentence for people, and since when, ISO-8601. */
interface Standstill {
  readonly reason: string;
  readonly since: string;
}

/**
 * How the scan stands, by its `state`. PostgreSQL is the record of the cursor, of pauses and of gaps; what a worker tells of the rest
 * may be some seconds older.
 *
 * - `starting`, `tail`, `catch-up`: it goes on: it begins, reads blocks as they come, or many at once from far behind.
 * - `waiting`: it stands still until nodes help it on; `stopped`: until people do.
 * - `paused`: somebody said so, and somebody must say when it goes on.
 * - `gap`: the chain says that the slots of `gap` hold blocks, and no node shows them.
 * - `silent`: no worker answers for it; `absent`: it has not been started.
 */
export type ScanStatus = ScanPosition &
  (
    | { readonly state: (typeof GOING_ON)[number] }
    | ({ readonly state: (typeof STANDING_STILL)[number] } & Standstill)
    | ({ readonly state: 'paused'; readonly actor: string } & Standstill)
    | ({ readonly state: 'gap'; readonly gap: ScanRange } & Standstill)
    | { readonly state: (typeof UNTOLD)[number] }
  );

/** Since when it stands still, ISO-8601; null where it goes on, or no status is known. */
export function sinceOf(status: ScanStatus): string | null {
  return 'since' in status ? status.since : null;
}

export const GAP_STATES = ['open', 'filled', 'closed'] as const;

/** Slots whose blocks no node showed. `filled`: one did after all; `closed`: an operator went on without them. Times are ISO-8601. */
export interface ScanGap extends ScanRange {
  readonly state: (typeof GAP_STATES)[number];
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly actor: string | null;
  readonly reason: string | null;
  /** When every address had been audited over it; null before, and for one that was filled. */
  readonly auditedAt: string | null;
  /** Since when audits of it settle nothing, as no quorum of nodes has shown its blocks; null where that is not so. */
  readonly unshownSince: string | null;
}

/** The name of the signal by which an activity tells the run how the scan stands. */
export const SCAN_REPORT = 'scanReport';
