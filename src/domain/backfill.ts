import type { AuditReport, ImportAuditCommand } from './audit.ts';
import type { OperatorNote } from './operator-note.ts';
import type { ScanRange } from './scan.ts';

/** An operator's command to read scanned blocks again. Missed deposits are added; no deposit is removed. */
export interface RescanCommand extends OperatorNote, ScanRange {}

/** An operator's command to compare the history of one address with its recorded deposits. */
export interface AddressBackfillCommand extends RescanCommand {
  readonly address: string;
  /** Also record missing deposits. */
  readonly repair: boolean;
}

/** A command of an operator. It has a row in `backfill`. */
export type StoredBackfillCommand = RescanCommand | AddressBackfillCommand;

/**
 * A command to read earlier blocks, or the history of one address. The row of an imported address waits for its audit.
 */
export type BackfillCommand = StoredBackfillCommand | ImportAuditCommand;

/**
 * `blocks`: number of blocks read. `found`: number of missed deposits. `unread`: slots of closed gaps that no node
 * returned.
 */
export interface RescanResult {
  readonly blocks: number;
  readonly found: number;
  readonly unread: readonly ScanRange[];
}

export type BackfillResult = RescanResult | AuditReport;

/**
 * - `reading`: in progress.
 * - `waiting`: the newest try failed with `trouble` and is retried. The rescan of a closed gap waits until a quorum of
 *   nodes has returned all blocks of the gap.
 * - `done`: everything was read.
 * - `incomplete`: nodes did not return the slots of `unread` in closed gaps, or all of the history of the address.
 * - `given_up`: ended early with `trouble`. Deposits that were already found are stored.
 */
export const BACKFILL_STATES = ['reading', 'waiting', 'done', 'incomplete', 'given_up'] as const;

export function isOfImport(command: BackfillCommand): command is ImportAuditCommand {
  return 'databaseId' in command;
}

/**
 * One workflow id for each subject, so that one backfill of it runs at a time. A read-only audit has an id of its own.
 */
export function backfillWorkflowId(command: BackfillCommand): string {
  const slots = `${command.from}-${command.to}`;
  if (isOfImport(command)) return `backfill/import/${command.address}/${slots}`;
  if (!('address' in command)) return `backfill/blocks/${slots}`;
  return `backfill/address/${command.address}/${slots}${command.repair ? '' : '/read-only'}`;
}

/** Why the rescan of a closed gap is incomplete. */
export const GAP_UNREAD = 'no quorum of nodes returns all blocks of this gap: add nodes that have them';

export function unreadText(unread: RescanResult['unread']): string {
  return `nodes did not return slots ${unread.map(({ from, to }) => `${from} to ${to}`).join(', ')}`;
}
