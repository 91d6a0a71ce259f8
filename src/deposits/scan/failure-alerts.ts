import { type Alarm, WHOLE } from '../../domain/alerts.ts';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import { isDatabaseAway } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ScanPaused } from '../../ledger/scan/scan-pauses.ts';
import { RpcError } from '../../solana/rpc/errors.ts';
import type { Halt, ScanProgress } from './progress-view.ts';

const KINDS = ['scan_gap', 'scan_stopped', 'scan_behind'] as const;
/** Ten minutes at 400 ms a slot, six at 250. */
const BEHIND_SLOTS = 1_500n;
/** Milliseconds after which a silent stop raises an alert. */
export const STALLED_MS = 60_000;
const REPEATED_MS = 60_000;

/** Keeps the alerts about a stopped or lagging scan up to date. */
export class ScanAlarms {
  readonly #ledger: Ledger;
  readonly #stalledMs: number;
  /** Alerts that must be open. Null if the scan has only waited so far. */
  #wanted: readonly Alarm[] | null = null;
  #shown: string | null = null;
  #raisedAt = Number.NEGATIVE_INFINITY;

  constructor(ledger: Ledger, stalledMs = STALLED_MS) {
    this.#ledger = ledger;
    this.#stalledMs = stalledMs;
  }

  /** `since`: when any worker first saw the scan stopped; null if it runs. A pause changes no alert. */
  async note(stand: ScanProgress, since: Date | null, now: Date): Promise<void> {
    if (stand.state === 'paused') return;
    const isStill = 'reason' in stand && since !== null;
    const isBrief = isStill && stand.state === 'waiting' && now.getTime() - since.getTime() < this.#stalledMs;
    if (!isBrief) this.#wanted = [...(isStill ? [stillAlarm(stand)] : []), ...lagAlarms(stand)];
    const alarms = this.#wanted;
    if (alarms === null) return;
    const key = alarms.map(({ kind, subject }) => `${kind} ${subject}`).join(' ');
    const isOld = now.getTime() - this.#raisedAt >= REPEATED_MS;
    if (key === this.#shown && (alarms.length === 0 || !isOld)) return;
    await this.#ledger.alerts.keepOnly(KINDS, alarms);
    this.#shown = key;
    this.#raisedAt = now.getTime();
  }
}

function stillAlarm(stand: ScanProgress & Halt): Alarm {
  const about =
    stand.state === 'gap'
      ? ({ kind: 'scan_gap', subject: stand.gap.from } as const)
      : ({ kind: 'scan_stopped', subject: WHOLE } as const);
  const slot = stand.cursor?.slot ?? 'none';
  return { ...about, message: `the deposit scan stands still at slot ${slot}: ${stand.reason}` };
}

function lagAlarms({ cursor, tip }: ScanProgress): readonly Alarm[] {
  if (cursor === null || tip === null || tip - cursor.slot <= BEHIND_SLOTS) return [];
  const message = `the deposit scan is at slot ${cursor.slot}, ${tip - cursor.slot} slots behind the newest final one`;
  return [{ kind: 'scan_behind', subject: WHOLE, message }];
}

/**
 * State of a scan after an error: `waiting` for nodes or the database, or `paused` or `stopped` until an
 * operator acts. A block of an unknown version is never skipped. A defect is waited for too: another try or
 * worker may succeed, and the alert of a long wait describes it.
 */
export function haltAfter(error: unknown): Halt {
  if (error instanceof ScanPaused) {
    const { actor, reason, since } = error.pause;
    return { state: 'paused', actor, reason, since };
  }
  if (error instanceof RpcError) {
    const state = error.reaction === 'stop' || error.reaction === 'fatal' ? 'stopped' : 'waiting';
    return { state, reason: error.message };
  }
  if (isDomainError(error)) return { state: error.retryable ? 'waiting' : 'stopped', reason: error.message };
  if (isDatabaseAway(error))
    return { state: 'waiting', reason: `the database cannot be written to: ${messageOf(error)}` };
  return { state: 'waiting', reason: describeDefect(error) };
}

export function describeDefect(error: unknown): string {
  const what = `${error instanceof Error ? error.name : 'error'}: ${messageOf(error)}`;
  return `unexpected error, probably a bug in Sluice: ${what}; it is tried again, report it if it stays`;
}

/** True for expected errors of operators, nodes, the chain or the database. Any other error is a defect. */
export function isOperational(error: unknown): boolean {
  return error instanceof RpcError || isDomainError(error) || isDatabaseAway(error);
}
