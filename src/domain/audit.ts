import type { ScanRange } from './scan.ts';

/**
 * Hold what the chain lists for addresses against what is on record, over slots that the scan has passed. `address` null: every
 * watched wallet, over a gap that was closed. `repair`: put on record what is missing; else it is only told.
 */
export interface AuditOrder extends ScanRange {
  readonly address: string | null;
  readonly repair: boolean;
  /** `import`: what is found is no alarm, as nobody could have scanned it; at the end the address may be assigned. */
  readonly cause: 'import' | 'gap' | 'operator';
}

/** What an audit came to. */
export interface AuditReport {
  readonly addresses: number;
  readonly transactions: number;
  /** Arrivals that were not on record. */
  readonly missed: readonly MissedArrival[];
  /** More were missed than are listed here. */
  readonly missedCount: number;
}

/** A part of an audit; `next`: the address behind which the next part begins, null where there is none. */
export interface AuditedPage extends AuditReport {
  readonly next: string | null;
}

export const NOTHING_AUDITED: AuditReport = { addresses: 0, transactions: 0, missed: [], missedCount: 0 };

const LISTED_MISSES = 100;

/** Parts of one audit as one report; it lists some of what was missed, and counts all. */
export function allOf(parts: readonly AuditReport[]): AuditReport {
  const sum = (count: (part: AuditReport) => number) => parts.reduce((total, part) => total + count(part), 0);
  return {
    addresses: sum(({ addresses }) => addresses),
    transactions: sum(({ transactions }) => transactions),
    missed: parts.flatMap(({ missed }) => missed).slice(0, LISTED_MISSES),
    missedCount: sum(({ missedCount }) => missedCount),
  };
}

/** Base units as a decimal string. */
export interface MissedArrival {
  readonly signature: string;
  readonly slot: string;
  readonly account: string;
  readonly asset: string;
  readonly amount: string;
}

/** One audit of one thing at a time. */
export function auditWorkflowId({ address, cause, from, to }: AuditOrder): string {
  return `address-audit/${cause}/${address ?? 'all'}/${from}-${to}`;
}
