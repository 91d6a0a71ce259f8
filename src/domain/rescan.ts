import { isFields } from './fields.ts';
import { type OperatorNote, operatorNoteOf } from './operator-note.ts';
import type { ScanRange } from './scan.ts';

/** Read committed blocks again. Missed deposits are added; no deposit is removed. */
export interface RescanOrder extends OperatorNote, ScanRange {}

/** Blocks read, deposits found that were not recorded, and slots of closed gaps whose blocks no node returned. */
export interface RescanResult {
  readonly blocks: number;
  readonly found: number;
  readonly unread: readonly ScanRange[];
}

/** A rescan whose workflow ended before all blocks were read, with the reason. */
export interface GivenUpRescan extends ScanRange {
  readonly trouble: string;
}

export const RESCAN_STATES = ['reading', 'waiting', 'done', 'incomplete', 'given_up'] as const;

/**
 * A stored rescan.
 *
 * - `reading`: in progress.
 * - `waiting`: its newest try failed with `trouble`; it is retried. The rescan of a closed gap waits until a quorum of
 *   nodes has returned its blocks.
 * - `done`: all blocks were read, closed gaps included.
 * - `incomplete`: all blocks with a stored header were read; nodes did not return the slots of `unread` in closed gaps.
 * - `given_up`: it ended early with `trouble`. Deposits found until then are stored.
 */
export interface Rescan extends RescanOrder, RescanResult {
  readonly state: (typeof RESCAN_STATES)[number];
  /** All blocks up to this slot were read, except gaps; null before the first block. */
  readonly readTo: string | null;
  readonly trouble: string | null;
  /** ISO-8601. */
  readonly begunAt: string;
  readonly endedAt: string | null;
}

const SLOT = /^(0|[1-9][0-9]{0,17})$/;

/** Parses the payload of a rescan signal. Null unless it has a valid range of slots. */
export function rescanOrderOf(given: unknown): RescanOrder | null {
  if (!isFields(given)) return null;
  const { from, to } = given;
  if (!isSlot(from) || !isSlot(to) || BigInt(from) > BigInt(to)) return null;
  return { from, to, ...operatorNoteOf(given) };
}

function isSlot(given: unknown): given is string {
  return typeof given === 'string' && SLOT.test(given);
}

/** One rescan of a range at a time. */
export function rescanWorkflowId({ from, to }: ScanRange): string {
  return `deposit-rescan/${from}-${to}`;
}

export function rescanRun(order: RescanOrder) {
  return {
    workflowId: rescanWorkflowId(order),
    args: [order] as [RescanOrder],
    summary: `read slots ${order.from} to ${order.to} again`,
    details: `asked for by ${order.actor}: ${order.reason}`,
  };
}

/** Why the rescan of a closed gap is not done. */
export const GAP_UNREAD = 'no quorum of nodes returns all blocks of this gap: add nodes that have them';

export function unreadText(unread: RescanResult['unread']): string {
  return `nodes did not show slots ${unread.map(({ from, to }) => `${from} to ${to}`).join(', ')}`;
}
