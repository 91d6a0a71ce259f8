import type { AuditReport, ImportAuditOrder } from './audit.ts';
import type { OperatorNote } from './operator-note.ts';
import type { ScanRange } from './scan.ts';

/** Read committed blocks again. Missed deposits are added; no deposit is removed. */
export interface RescanOrder extends OperatorNote, ScanRange {}

/** Compare the history of one address with its recorded deposits. */
export interface AddressOrder extends RescanOrder {
  readonly address: string;
  /** Also record missing deposits. */
  readonly repair: boolean;
}

/** An operator's order, which has a row in `backfill`. */
export type StoredOrder = RescanOrder | AddressOrder;

/** Reads earlier blocks, or the history of one address. The row of an imported address waits for its audit. */
export type BackfillOrder = StoredOrder | ImportAuditOrder;

/** Blocks read, deposits found that were not recorded, and slots of closed gaps whose blocks no node returned. */
export interface RescanResult {
  readonly blocks: number;
  readonly found: number;
  readonly unread: readonly ScanRange[];
}

export type BackfillResult = RescanResult | AuditReport;

/**
 * - `reading`: in progress.
 * - `waiting`: its newest try failed with `trouble`; it is retried. That of a closed gap waits until a quorum of nodes
 *   has returned its blocks.
 * - `done`: everything was read.
 * - `incomplete`: nodes did not return the slots of `unread` in closed gaps, or all of the history of the address.
 * - `given_up`: it ended early with `trouble`. Deposits found until then are stored.
 */
export const BACKFILL_STATES = ['reading', 'waiting', 'done', 'incomplete', 'given_up'] as const;

export function isOfImport(order: BackfillOrder): order is ImportAuditOrder {
  return 'record' in order;
}

/** One backfill of one subject at a time. A read-only audit has its own id, so it never replaces a repairing one. */
export function backfillWorkflowId(order: BackfillOrder): string {
  const slots = `${order.from}-${order.to}`;
  if (isOfImport(order)) return `backfill/import/${order.address}/${slots}`;
  if (!('address' in order)) return `backfill/blocks/${slots}`;
  return `backfill/address/${order.address}/${slots}${order.repair ? '' : '/look'}`;
}

/** Why the rescan of a closed gap is not done. */
export const GAP_UNREAD = 'no quorum of nodes returns all blocks of this gap: add nodes that have them';

export function unreadText(unread: RescanResult['unread']): string {
  return `nodes did not return slots ${unread.map(({ from, to }) => `${from} to ${to}`).join(', ')}`;
}
