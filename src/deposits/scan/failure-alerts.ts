import { type Alarm, WHOLE_SYSTEM } from '../../domain/alerts.ts';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import type { ScanReport, ScanStatus } from '../../domain/scan.ts';
import { isDatabaseAway } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { RpcError } from '../../solana/rpc/errors.ts';

const KINDS = ['scan_gap', 'scan_stopped', 'scan_behind'] as const;
/** Ten minutes at 400 ms a slot, six at 250. */
const BEHIND_SLOTS = 1_500n;
/** Milliseconds after which a waiting scan raises an alert. */
export const STALLED_MS = 60_000;
const REPEATED_MS = 60_000;

/** Why the scan makes no progress. `reason` is one sentence for operators. */
type Halt = Pick<ScanReport, 'state'> & { readonly reason: string };

/** Keeps the alerts about a stopped or lagging scan up to date. */
export class ScanAlarms {
  readonly #ledger: Ledger;
  readonly #stalledMs: number;
  #noted: string | null = null;
  #raisedAt = Number.NEGATIVE_INFINITY;

  constructor(ledger: Ledger, stalledMs = STALLED_MS) {
    this.#ledger = ledger;
    this.#stalledMs = stalledMs;
  }

  /** A pause changes no alert, nor does a short wait. */
  async note(status: ScanStatus): Promise<void> {
    if (status.state === 'paused' || this.#isBrief(status)) return;
    const alarms = alarmsOf(status);
    const key = alarms.map(({ kind, subject }) => `${kind} ${subject}`).join(' ');
    const isOld = performance.now() - this.#raisedAt >= REPEATED_MS;
    if (key === this.#noted && (alarms.length === 0 || !isOld)) return;
    await this.#ledger.alerts.keepOnly(KINDS, alarms);
    this.#noted = key;
    this.#raisedAt = performance.now();
  }

  #isBrief(status: ScanStatus): boolean {
    if (status.state !== 'waiting' || status.at === null) return false;
    return Date.parse(status.at) - Date.parse(status.since) < this.#stalledMs;
  }
}

function alarmsOf(status: ScanStatus): readonly Alarm[] {
  const { cursor, tip, lag } = status;
  const alarms: Alarm[] = [];
  if ('reason' in status) {
    const about =
      status.state === 'gap'
        ? ({ kind: 'scan_gap', subject: status.gap.from } as const)
        : ({ kind: 'scan_stopped', subject: WHOLE_SYSTEM } as const);
    const slot = cursor?.slot ?? 'none';
    alarms.push({
      ...about,
      message: `the deposit scan makes no progress at slot ${slot}: ${status.reason}`,
    });
  }
  if (cursor !== null && tip !== null && BigInt(lag ?? 0) > BEHIND_SLOTS) {
    const message = `the deposit scan is at slot ${cursor.slot}, ${lag} slots behind the newest final one`;
    alarms.push({ kind: 'scan_behind', subject: WHOLE_SYSTEM, message });
  }
  return alarms;
}

/** Raises the alert that no worker can raise. Call it about once a minute. A scan that was never started is not silent. */
export async function keepSilenceAlarm({ alerts, scanStatus }: Ledger): Promise<void> {
  const { state, at } = await scanStatus.read();
  if (state !== 'silent') return void (await alerts.close('scan_silent', WHOLE_SYSTEM));
  const message = `no worker has reported the state of the deposit scan since ${at}: Temporal does not answer, or no chain worker runs`;
  await alerts.raise({ kind: 'scan_silent', subject: WHOLE_SYSTEM, message, details: { since: at } });
}

/**
 * State of a scan after an error: `waiting` for nodes or the database, or `paused` or `stopped` until an
 * operator acts. A block of an unknown version is never skipped. A defect is waited for too: another try or
 * worker may succeed, and the alert of a long wait describes it.
 */
export function haltAfter(error: unknown): Halt {
  if (isDomainError(error, 'ScanPaused')) return { state: 'paused', reason: error.message };
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
  const text = `${error instanceof Error ? error.name : 'error'}: ${messageOf(error)}`;
  return `unexpected error, probably a bug in Sluice: ${text}; it is retried. Report it if it persists`;
}

/** True for expected errors of operators, nodes, the chain or the database. Any other error is a defect. */
export function isOperational(error: unknown): boolean {
  return error instanceof RpcError || isDomainError(error) || isDatabaseAway(error);
}
