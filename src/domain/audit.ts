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
