import { isFields } from './fields.ts';
import { type OperatorNote, operatorNoteOf } from './operator-note.ts';
import type { ScanRange } from './scan.ts';

/** Read committed blocks again: what was missed is added, nothing is ever taken back. */
export interface RescanOrder extends OperatorNote, ScanRange {}

/**
 * What a rescan came to: how many blocks it has read, how many deposits in them that were not on record, and slots of closed gaps whose
 * blocks nodes did not show.
 */
export interface RescanResult {
  readonly blocks: number;
  readonly found: number;
  readonly unread: readonly ScanRange[];
}

/** A rescan whose run has ended before all was read, and by what. */
export interface GivenUpRescan extends ScanRange {
  readonly trouble: string;
}

export const RESCAN_STATES = ['reading', 'waiting', 'done', 'incomplete', 'given_up'] as const;

/**
 * A rescan on record.
 *
 * - `reading`: it goes on.
 * - `waiting`: its newest try failed by `trouble`, and it is tried again.
 * - `done`: all was read, gaps that were closed included.
 * - `incomplete`: all was read whose headers are on record; of closed gaps nodes did not show the slots of `unread`.
 * - `given_up`: it ended before that, by `trouble`. What was read until then is on record.
 */
export interface Rescan extends RescanOrder, RescanResult {
  readonly state: (typeof RESCAN_STATES)[number];
  /** All of it up to this slot is read, but for gaps; null before the first block. */
  readonly readTo: string | null;
  readonly trouble: string | null;
  /** ISO-8601. */
  readonly begunAt: string;
  readonly endedAt: string | null;
}

const SLOT = /^(0|[1-9][0-9]{0,17})$/;

/** What somebody signalled as a rescan, which may be anything; null where it names no slots, from the first to the last. */
export function rescanOrderOf(given: unknown): RescanOrder | null {
  if (!isFields(given)) return null;
  const { from, to } = given;
  if (!isSlot(from) || !isSlot(to) || BigInt(from) > BigInt(to)) return null;
  return { from, to, ...operatorNoteOf(given) };
}

function isSlot(given: unknown): given is string {
  return typeof given === 'string' && SLOT.test(given);
}

/** One run at a time reads a range again. */
export function rescanWorkflowId({ from, to }: ScanRange): string {
  return `deposit-rescan/${from}-${to}`;
}

/** The run of a rescan, and what people read of it. */
export function rescanRun(order: RescanOrder) {
  return {
    workflowId: rescanWorkflowId(order),
    args: [order] as [RescanOrder],
    summary: `read slots ${order.from} to ${order.to} again`,
    details: `asked for by ${order.actor}: ${order.reason}`,
  };
}

/** What people are told of slots whose blocks nodes did not show. */
export function unreadText(unread: RescanResult['unread']): string {
  return `nodes did not show slots ${unread.map(({ from, to }) => `${from} to ${to}`).join(', ')}`;
}
