/** What the scan does: read blocks as they come (`tail`) or many at once (`catch-up`), nothing (`paused`), or nothing any more until nodes (`gap`, `waiting`) or people (`stopped`) help it on. */
export type ScanState = 'starting' | 'tail' | 'catch-up' | 'paused' | 'gap' | 'waiting' | 'stopped';

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

/** What is to be read ahead; `behind` is false, and nothing is, where the scan is near the tip or where `why` says what stands in the way. */
export interface CatchUpPlan {
  readonly behind: boolean;
  readonly ranges: readonly CatchUpRange[];
  readonly why: string | null;
}

/** Whether a range is staged to its end; else, where that is known, why not. */
export interface RangeEnd {
  readonly complete: boolean;
  readonly why: string | null;
}

/** How many blocks were joined to the cursor, and how the scan stands then; `view` is null where `why` says what stands in the way. */
export interface JoinEnd {
  readonly joined: number;
  readonly view: ScanView | null;
  readonly why: string | null;
}

/** How long to follow the chain, and since when the scan stands still, as its last view said. */
export interface TailOrder {
  readonly seconds: number;
  readonly since: ScanView['since'];
}

/** The last block that was linked, scanned and committed; decimal strings. */
export interface ScanCursor {
  readonly slot: string;
  readonly blockhash: string;
  readonly height: string;
}

/** How the scan stands, as its run knows it. Postgres is the record of the cursor; this may be some seconds older. */
export interface ScanView {
  readonly state: ScanState;
  readonly cursor: ScanCursor | null;
  /** The newest slot that a quorum of nodes has finalized. */
  readonly tip: string | null;
  /** Slots from the cursor to the tip. */
  readonly lag: string | null;
  /** Over the newest report; null before there is one. */
  readonly blocksPerSecond: number | null;
  /** The slots that no node shows and that the chain says hold a block. */
  readonly gap: ScanRange | null;
  /** One sentence for people where the scan stands still; null where it goes on. */
  readonly why: string | null;
  /** ISO-8601: since when it stands still; null where it goes on. */
  readonly since: string | null;
  /** ISO-8601. */
  readonly at: string;
}

/** Who asks the scan for something, and why: kept in the history. */
export interface ScanOrder {
  readonly who: string;
  readonly why: string;
}

/** Read committed blocks again: what was missed is added, nothing is ever taken back. */
export interface RescanOrder extends ScanOrder, ScanRange {}

/** One run at a time reads a range again. */
export function rescanWorkflowId({ from, to }: ScanRange): string {
  return `deposit-rescan/${from}-${to}`;
}

/** The name of the signal by which an activity tells the run how the scan stands. */
export const SCAN_REPORT = 'scanReport';
